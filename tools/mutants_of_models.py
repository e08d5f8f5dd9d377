"""Defences of a model of y that sites of a study fit, and score, together."""

from tools.mutant import DISCLOSURE, QUESTIONS, SECURE, Mutant, off

MODELS = "tests/attacks/test_model_attacks.py"
STUDY = "tests/study/test_predicted_study.py"
FOLDS = "tests/attacks/test_fold_attacks.py"
SCORED = "tests/study/test_scored_study.py"
READ = f"{QUESTIONS}reading.py"
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
        "    if limit is None or len(earlier) + facts.n_models <= limit:\n",
        "    if True:\n",
        STUDY,
    ),
    off(
        "models: groups smaller than the site allows",
        RULE,
        "    if facts.group_rows < fewest or n_rows < facts.group_rows:\n",
        "    if False:\n",
        STUDY,
    ),
    off(
        "folds: rows of a fold are not counted",
        "src/fedsdr/rows/dealt_rows.py",
        "return folds + held + halves + self._scored(terms)",
        "return folds + held + halves",
        FOLDS,
    ),
    off(
        "folds: over other sites than all rows",
        "src/fedsdr/disclosure/differencing.py",
        "    kind = kind_of(statistic)\n",
        "    kind = statistic\n",
        FOLDS,
    ),
    off(
        "folds: any number of them",
        READ,
        "not 1 <= number <= n_folds",
        "number < 1",
        FOLDS,
    ),
    off(
        "folds: sums that need none",
        READ,
        "    if name not in FOLDED:\n",
        "    if False:\n",
        FOLDS,
    ),
    off(
        "folds: halves of them too",
        READ,
        "        terms = terms.outside_folds\n",
        "        pass\n",
        FOLDS,
    ),
    off(
        "folds: any number of questions about one",
        "src/fedsdr/protocols/secure/secure_site.py",
        "fold_name(question.name, fold_number(question)),",
        'f"{question.name}/{context.round}",',
        FOLDS,
    ),
    off(
        "folds: steps of one go on with another's",
        REPLAY,
        "return self._models[fold_number(question)].settle(question)",
        "return self._models[0].settle(question)",
        FOLDS,
    ),
    off(
        "folds: predictions of models that are not fitted",
        REPLAY,
        "        if len(models) < len(fits):\n",
        "        if False:\n",
        FOLDS,
    ),
    off(
        "folds: predictions of single rows in bins",
        f"{QUESTIONS}held_out.py",
        "near_means(predictor[:, None], y, self.agreed.group_rows)[:, 0]",
        "predictor",
        FOLDS,
    ),
    off(
        "folds: models without them are not counted",
        "src/fedsdr/protocols/secure/agreed_study.py",
        "n_models = 1 + terms.model.folds",
        "n_models = 1",
        SCORED,
    ),
    off(
        "folds: of an earlier study count as one model",
        RULE,
        '(entry.study, entry.statistic.partition("/")[2])',
        '(entry.study, "")',
        SCORED,
    ),
    off(
        "folds: smaller than groups",
        RULE,
        "n_rows = facts.smallest_part if facts.n_models > 1 else facts.n_rows",
        "n_rows = facts.n_rows",
        SCORED,
    ),
)
