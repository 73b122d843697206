// Everything stands in the page; nothing is fetched.

const data = JSON.parse(document.getElementById("data").textContent);
setUpTheme();
setUpTables();
setUpCharts(data.charts);
setUpSegments(data);
