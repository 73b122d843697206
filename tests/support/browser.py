"""A headless Chromium, where there is one."""

import shutil
from contextlib import contextmanager

import pytest


def find():
    """Return the programs (browser, driver), or skip the test."""
    driver = shutil.which("chromedriver")
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    browser = browser or shutil.which("google-chrome")
    if driver is None or browser is None:
        pytest.skip("browser: chromium and chromedriver not on PATH")
    return browser, driver


@contextmanager
def browser(width=1200, height=900, *, dark=False):
    """Give a driver whose console is kept and which reaches no network."""
    program, driver = find()
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",  # tests may run as root
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-quic",
        "--disable-sync",
        "--no-first-run",
        f"--window-size={width},{height}",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    session = webdriver.Chrome(options, webdriver.ChromeService(executable_path=driver))
    try:
        session.set_window_size(width, height)
        yield session
    finally:
        session.quit()


def console(session):
    """Return what the console has shown since the last call."""
    return [entry["message"] for entry in session.get_log("browser")]
