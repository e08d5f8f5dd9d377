"""A page on this machine that shows how a study or a site is, and changes nothing."""
