from portmert.tuner.evaluation.comparison.sentences import called_by_metric


def test_a_system_named_as_its_metric_is_told_apart():
    assert called_by_metric("port", "port:alpha=0.25|refs:1") == "PORT-tuned"
    assert called_by_metric("Port", "port") == "PORT-tuned"
    assert called_by_metric("port", "bleu:max_order=4") == "port"
    assert called_by_metric("port", None) == "port"
