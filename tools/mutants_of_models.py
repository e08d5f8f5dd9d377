"""Defences of a model of y that sites of a study fit together."""

from tools.mutant import DISCLOSURE, QUESTIONS, SECURE, Mutant, off

MODELS = "tests/attacks/test_model_attacks.py"
STUDY = "tests/study/test_predicted_study.py"
REPLAY = f"{SECURE}replayed_model.py"
READING = f"{QUESTIONS}reading_models.py"
RULE = f"{DISCLOSURE}later_rules.py"

OF_MODELS: tuple[Mutant, ...] = (
    off(
        "models: sites compute with single rows",
        f"{QUESTIONS}additive_steps.py",
        "                axes = near_means(axes, y, model.group_rows)\n",
        "                pass\n",
        MODELS,
    ),
    off(
        "models: groups of half the size",
        f"{QUESTIONS}additive_steps.py",
        "near_means(axes, y, model.group_rows)",
        "near_means(axes, y, model.group_rows // 2)",
        MODELS,
    ),
    off(
        "models: a row far out pulls its group",
        "src/fedsdr/summaries/near_rows.py",
        "pulled_in(axis) for axis",
        "axis for axis",
        MODELS,
    ),
    off(
        "models: steps are not compared",
        REPLAY,
        "        _compare(question, self._next)\n",
        "",
        MODELS,
    ),
    off(
        "models: sites compute with the coordinator's values",
        REPLAY,
        "return replace(self._next, settings=question.settings)",
        "return question",
        MODELS,
    ),
    off(
        "models: steps without the sums before them",
        REPLAY,
        "            if not isinstance(question, AxesOf):\n",
        "            if False:\n",
        MODELS,
    ),
    off(
        "models: several sets of directions",
        "src/fedsdr/terms.py",
        '"axes": 2 if self.model is None else 1,',
        '"axes": 2,',
        MODELS,
    ),
    off(
        "models: any number of steps",
        "src/fedsdr/terms.py",
        '"newton": self.max_steps,',
        '"newton": 1000,',
        MODELS,
    ),
    off(
        "models: another family than was agreed on",
        READING,
        "(family, own) != (agreed.family, agreed.own)",
        "False",
        MODELS,
    ),
    off(
        "models: measures, which were not agreed on",
        READING,
        "    if terms.model is not None:\n        raise Refusal",
        "    if False:\n        raise Refusal",
        MODELS,
    ),
    off(
        "models: a result of other directions",
        "src/fedsdr/study/prediction_stage.py",
        "    if not alike or not np.allclose",
        "    if False and not np.allclose",
        MODELS,
    ),
    off(
        "models: of one response in any number of studies",
        RULE,
        "(MODELS, release, facts, entries)\n"
        "    if limit is None or len(earlier) < limit:\n",
        "(MODELS, release, facts, entries)\n    if True:\n",
        STUDY,
    ),
    off(
        "models: groups smaller than the site allows",
        RULE,
        "    if facts.group_rows < fewest or facts.n_rows < facts.group_rows:\n",
        "    if False:\n",
        STUDY,
    ),
)
