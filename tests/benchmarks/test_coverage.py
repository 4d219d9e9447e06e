"""The benchmark of promises: trials are kept, and the page counts them."""

from benchmarks.coverage import __main__ as coverage
from benchmarks.page import Page


def test_trials_are_done_once_and_counted(tmp_path, monkeypatch, capsys):
    calls = []

    def trial(*given):
        calls.append(given)
        return {
            **{"promised": True, "value": 0.3 if given[-1] else 0.0, "plain_value": 0.2},
            **{"accuracy": 0.8, "plain_accuracy": 0.81, "gap": 0.01, "plain_gap": 0.1},
            **{"covered": True, "wrong_verdict": False},
        }

    for name in ("fit_trial", "audit_trial", "split_trial"):
        monkeypatch.setattr(coverage, name, trial)
    store = tmp_path / "trials.jsonl"
    assert len(coverage.run(store, 2, 1, seconds=-1.0)) == 0
    done = coverage.run(store, 2, 1, seconds=100.0)
    count = len(calls)
    assert len(done) == count == 4 * 5 + 2 * 9 * 2 + 3 * 2 * 2
    assert coverage.run(store, 2, 1, seconds=100.0) == done
    assert len(calls) == count
    page = Page("Coverage", "make coverage")
    coverage.write(page, done)
    goals = {text: (measured, limit) for text, measured, limit in page.goals}
    assert goals["share of fits that promise a bound which breaks, at 0.9"][0] == 0.5
    assert "36 fits in all." in capsys.readouterr().out
