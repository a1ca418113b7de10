"""Which scripts a page lets run: its own, which carry a number that is new each time, and no others."""

from __future__ import annotations

import re

import pytest
from glassloom_dashboards.serving.server import security_policy
from glassloom_metrics.pages import PAGES
from synthetic import Shape

IS_DRAWN = "() => Bokeh.documents[0]?.is_idle && Bokeh.documents[0].get_model_by_name('strip')?.text.includes('demo')"
ADD_SCRIPTS = """() => {
  const inline = document.createElement('script'), file = document.createElement('script')
  inline.text = 'window.stranger = 1'
  file.src = `${location.origin}/files/stranger.js`
  return new Promise(done => {
    file.onerror = () => done(window.stranger ?? 'did not run')
    document.head.append(inline, file)
  })
}"""


def scripts_of(policy: str) -> str:
    return dict(part.split(" ", 1) for part in policy.split("; "))["script-src"]


@pytest.fixture
def tab(tab, publish) -> object:
    """Return a tab beside a cluster with failures and GPUs."""
    publish(Shape(tasks=200, failures=True))
    return tab


def test_without_a_nonce_no_script_runs():
    assert scripts_of(security_policy()) == "'none'"


@pytest.mark.long
def test_every_page_runs_under_its_policy_without_a_complaint_of_the_browser(tab):
    for page in PAGES:
        answer = tab.goto(f"{tab.cluster}/{page.id}")
        scripts = scripts_of(answer.headers["content-security-policy"])
        assert re.fullmatch(r"'nonce-[\w-]{22}' 'unsafe-eval'", scripts), page.id
        tab.wait_for_function(IS_DRAWN)
        assert tab.wrongs == [], page.id


def test_each_answer_has_a_nonce_of_its_own_and_other_scripts_do_not_run(tab):
    policies = {tab.goto(f"{tab.cluster}/overview").headers["content-security-policy"] for _ in range(2)}
    assert len(policies) == 2
    tab.wait_for_function(IS_DRAWN)
    assert tab.evaluate(ADD_SCRIPTS) == "did not run"
    refused = [line for line in tab.wrongs if "Content Security Policy" in line]
    assert len(refused) == 2
    tab.wrongs.clear()
