from portmert.tuner.evaluation.comparison.report import spoken


def test_a_system_named_as_its_metric_is_told_apart():
    assert spoken("port", "port:alpha=0.25|refs:1") == "PORT-tuned"
    assert spoken("Port", "port") == "PORT-tuned"
    assert spoken("port", "bleu:max_order=4") == "port"
    assert spoken("port", None) == "port"
