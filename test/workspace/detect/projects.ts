/** A small project, and what must be found in it. */
export interface Sample {
  title: string
  files: Record<string, string>
  /** `directory: manager (file)`, without the directory at the top. */
  managers: string[]
  /** `kind: command`, with `[directory]` before it below the top. */
  commands: string[]
}

const json = (value: unknown) => JSON.stringify(value, null, 2)

export const SAMPLES: Sample[] = [
  {
    title: 'npm with a lock file and scripts',
    files: {
      'package.json': json({
        scripts: { test: 'node --test', build: 'tsc', lint: 'eslint .', typecheck: 'tsc --noEmit' },
      }),
      'package-lock.json': '{}',
    },
    managers: ['npm (package-lock.json)'],
    commands: [
      'setup: npm ci',
      'build: npm run build',
      'typecheck: npm run typecheck',
      'lint: npm run lint',
      'test: npm test',
    ],
  },
  {
    title: 'pnpm by its lock file, whatever else is there, and a new package’s placeholder is no test',
    files: {
      'package.json': json({ scripts: { test: 'echo "Error: no test specified" && exit 1', build: 'vite build' } }),
      'pnpm-lock.yaml': '',
    },
    managers: ['pnpm (pnpm-lock.yaml)'],
    commands: ['setup: pnpm install --frozen-lockfile', 'build: pnpm run build'],
  },
  {
    title: 'of several lock files the one that packageManager names',
    files: {
      'package.json': json({ packageManager: 'yarn@4.1.0' }),
      'package-lock.json': '{}',
      'pnpm-lock.yaml': '',
      'yarn.lock': '',
    },
    managers: ['yarn (yarn.lock)'],
    commands: ['setup: yarn install --immutable'],
  },
  {
    title: 'yarn of the first kind',
    files: { 'package.json': json({ scripts: { test: 'jest' } }), 'yarn.lock': '' },
    managers: ['yarn (yarn.lock)'],
    commands: ['setup: yarn install --frozen-lockfile', 'test: yarn test'],
  },
  {
    title: 'bun, whose own word "test" is not the script',
    files: { 'package.json': json({ scripts: { test: 'vitest run' } }), 'bun.lock': '' },
    managers: ['bun (bun.lock)'],
    commands: ['setup: bun install --frozen-lockfile', 'test: bun run test'],
  },
  {
    title: 'tools without scripts, called without fetching anything',
    files: {
      'package.json': json({ devDependencies: { typescript: '5', vitest: '3', eslint: '9' } }),
      'tsconfig.json': '{}',
      'eslint.config.js': '',
    },
    managers: ['npm (package.json)'],
    commands: [
      'setup: npm install',
      'typecheck: npx --no-install tsc --noEmit',
      'lint: npx --no-install eslint .',
      'test: npx --no-install vitest run',
    ],
  },
  {
    title: 'a script that ends is preferred to one that watches, one that checks to one that mends',
    files: {
      'package.json': json({
        scripts: { test: 'jest --watch', 'test:ci': 'jest', lint: 'eslint --fix .', 'lint:check': 'eslint .' },
      }),
    },
    managers: ['npm (package.json)'],
    commands: ['setup: npm install', 'lint: npm run lint:check', 'test: npm run test:ci'],
  },
  {
    title: 'a pnpm workspace is one project; a folder outside of it is another',
    files: {
      'package.json': json({ scripts: { test: 'pnpm -r test' } }),
      'pnpm-lock.yaml': '',
      'pnpm-workspace.yaml': 'packages:\n  - "packages/*"\n  - "!packages/old"\n',
      'packages/a/package.json': json({ scripts: { test: 'vitest' } }),
      'packages/old/package.json': json({ scripts: { test: 'jest' } }),
      'website/package.json': json({ scripts: { build: 'astro build' } }),
    },
    managers: [
      'pnpm (pnpm-lock.yaml)',
      'website: pnpm (pnpm-lock.yaml above)',
      'packages/old: pnpm (pnpm-lock.yaml above)',
    ],
    commands: [
      'setup: pnpm install --frozen-lockfile',
      '[website] setup: pnpm install',
      '[packages/old] setup: pnpm install',
      '[website] build: pnpm run build',
      'test: pnpm test',
      '[packages/old] test: pnpm test',
    ],
  },
  {
    title: 'a package beside a workspace, which takes in only what is below it',
    files: {
      'app/package.json': json({ workspaces: ['*'] }),
      'app/web/package.json': json({ scripts: { test: 'vitest' } }),
      'tools/package.json': json({ scripts: { test: 'node --test' } }),
    },
    managers: ['app: npm (package.json)', 'tools: npm (package.json)'],
    commands: ['[app] setup: npm install', '[tools] setup: npm install', '[tools] test: npm test'],
  },
  {
    title: 'npm workspaces in the form of a table',
    files: {
      'package.json': json({ workspaces: { packages: ['apps/**'] }, scripts: { test: 'turbo test' } }),
      'package-lock.json': '{}',
      'apps/one/web/package.json': '{}',
    },
    managers: ['npm (package-lock.json)'],
    commands: ['setup: npm ci', 'test: npm test'],
  },
  {
    title: 'manifests among fixtures, examples and dependencies are nobody’s project',
    files: {
      'go.mod': 'module x',
      'test/fixtures/a/package.json': '{}',
      'examples/b/Cargo.toml': '[package]',
      'node_modules/c/package.json': '{}',
      'vendor/d/go.mod': '',
    },
    managers: ['go (go.mod)'],
    commands: ['setup: go mod download', 'build: go build ./...', 'lint: go vet ./...', 'test: go test ./...'],
  },
  {
    title: 'Go with a linter of its own and a Makefile, which knows better than what is usual',
    files: {
      'go.mod': 'module x',
      '.golangci.yml': '',
      Makefile: '.PHONY: test\nVERSION := 1\ntest: generate\n\tgo test -race ./...\ngenerate:\n\tgo generate\n',
    },
    managers: ['go (go.mod)', 'make (Makefile)'],
    commands: ['setup: go mod download', 'build: go build ./...', 'lint: golangci-lint run', 'test: make test'],
  },
  {
    title: 'several modules of a go.work, each by itself',
    files: { 'go.work': 'go 1.22\nuse ./a\n', 'a/go.mod': 'module a' },
    managers: ['a: go (go.mod)'],
    commands: [
      '[a] setup: go mod download',
      '[a] build: go build ./...',
      '[a] lint: go vet ./...',
      '[a] test: go test ./...',
    ],
  },
  {
    title: 'a cargo workspace',
    files: {
      'Cargo.toml': '[workspace]\nmembers = ["crates/*"]\n',
      'Cargo.lock': '',
      'crates/one/Cargo.toml': '[package]\nname = "one"\n',
    },
    managers: ['cargo (Cargo.lock)'],
    commands: [
      'setup: cargo fetch --locked',
      'build: cargo build --workspace',
      'typecheck: cargo check --workspace --all-targets',
      'lint: cargo clippy --workspace --all-targets',
      'format: cargo fmt --all --check',
      'test: cargo test --workspace',
    ],
  },
  {
    title: 'uv with ruff, mypy and pytest',
    files: {
      'pyproject.toml': '[project]\nname = "x"\n[dependency-groups]\ndev = ["pytest>=8"]\n[tool.ruff]\n[tool.mypy]\n',
      'uv.lock': '',
    },
    managers: ['uv (uv.lock)'],
    commands: [
      'setup: uv sync --locked',
      'typecheck: uv run mypy .',
      'lint: uv run ruff check .',
      'format: uv run ruff format --check .',
      'test: uv run pytest',
    ],
  },
  {
    title: 'poetry by its section, without a lock file',
    files: {
      'pyproject.toml': '[tool.poetry]\nname = "x"\n[tool.poetry.group.dev.dependencies]\npytest = "*"\nblack = "*"\n',
    },
    managers: ['poetry (pyproject.toml: tool.poetry)'],
    commands: ['setup: poetry install', 'format: poetry run black --check .', 'test: poetry run pytest'],
  },
  {
    title: 'pip with requirements, tests of the standard library; pytest-cov alone is no pytest',
    files: { 'requirements.txt': 'flask\npytest-cov\n', 'tests/test_x.py': '' },
    managers: ['pip (requirements.txt)'],
    commands: ['setup: pip install -r requirements.txt', 'test: python3 -m unittest discover tests'],
  },
  {
    title: 'pipenv with Django',
    files: { Pipfile: '[packages]\ndjango = "*"\n', 'Pipfile.lock': '{}', 'manage.py': '' },
    managers: ['pipenv (Pipfile.lock)'],
    commands: ['setup: pipenv sync --dev', 'test: pipenv run python manage.py test'],
  },
  {
    title: 'Maven with its wrapper and modules',
    files: {
      'pom.xml': '<project><modules><module>core</module></modules><plugin>spotless-maven-plugin</plugin></project>',
      mvnw: '',
      'core/pom.xml': '<project/>',
    },
    managers: ['maven (mvnw)'],
    commands: ['build: ./mvnw -B -DskipTests package', 'format: ./mvnw -B spotless:check', 'test: ./mvnw -B test'],
  },
  {
    title: 'Gradle with its wrapper; what lies below is built with it',
    files: {
      'settings.gradle.kts': 'include("app")',
      'build.gradle.kts': 'id("detekt")',
      gradlew: '',
      'app/build.gradle': '',
    },
    managers: ['gradle (gradlew)'],
    commands: ['build: ./gradlew assemble', 'lint: ./gradlew detekt', 'test: ./gradlew test'],
  },
  {
    title: 'composer with a script and phpstan',
    files: {
      'composer.json': json({ scripts: { test: ['@phpunit', 'x'] } }),
      'composer.lock': '{}',
      'phpstan.neon': '',
    },
    managers: ['composer (composer.lock)'],
    commands: ['setup: composer install', 'typecheck: vendor/bin/phpstan analyse', 'test: composer run test'],
  },
  {
    title: 'bundler with rspec and rubocop',
    files: { Gemfile: '', 'Gemfile.lock': '', '.rspec': '', '.rubocop.yml': '' },
    managers: ['bundler (Gemfile.lock)'],
    commands: ['setup: bundle install', 'lint: bundle exec rubocop', 'test: bundle exec rspec'],
  },
  {
    title: 'a .NET solution with its projects below',
    files: { 'Shop.sln': '', 'src/Shop/Shop.csproj': '<Project/>' },
    managers: ['dotnet (Shop.sln)'],
    commands: [
      'setup: dotnet restore',
      'build: dotnet build',
      'format: dotnet format --verify-no-changes',
      'test: dotnet test',
    ],
  },
  {
    title: 'a justfile alone; a recipe that wants an argument is not run',
    files: {
      justfile: 'default:\n  @just --list\ntest filter="":\n  cargo test {{filter}}\nbuild target:\n  x\nlint:\n  y\n',
    },
    managers: ['just (justfile)'],
    commands: ['lint: just lint', 'test: just test'],
  },
  {
    title: 'a Taskfile',
    files: { 'Taskfile.yml': 'version: "3"\ntasks:\n  test:\n    cmds: [x]\n  build: {cmds: [y]}\n' },
    managers: ['task (Taskfile.yml)'],
    commands: ['build: task build', 'test: task test'],
  },
  {
    title: 'C with make, where check is the tests and install is nobody’s set-up',
    files: { Makefile: 'all: prog\ncheck: prog\n\t./run-tests\ninstall:\n\tcp prog /usr/bin\n', 'main.c': '' },
    managers: ['make (Makefile)'],
    commands: ['test: make check'],
  },
  {
    title: 'two languages at the top and a Makefile that stands for both',
    files: {
      'package.json': json({ scripts: { test: 'jest', lint: 'eslint .' } }),
      'pyproject.toml': '[tool.pytest.ini_options]\n',
      Makefile: 'test:\n\tnpm test && pytest\n',
    },
    managers: ['npm (package.json)', 'pip (pyproject.toml)', 'make (Makefile)'],
    commands: ['setup: npm install', 'setup: pip install -e .', 'lint: npm run lint', 'test: make test'],
  },
  {
    title: 'a front and a back end side by side',
    files: {
      'web/package.json': json({ scripts: { test: 'vitest run' } }),
      'web/yarn.lock': '',
      'api/pyproject.toml': '[project]\ndependencies = ["pytest"]\n',
      'api/poetry.lock': '',
    },
    managers: ['api: poetry (poetry.lock)', 'web: yarn (yarn.lock)'],
    commands: [
      '[api] setup: poetry install',
      '[web] setup: yarn install --frozen-lockfile',
      '[api] test: poetry run pytest',
      '[web] test: yarn test',
    ],
  },
  {
    title: 'Elixir',
    files: { 'mix.exs': '' },
    managers: ['mix (mix.exs)'],
    commands: ['setup: mix deps.get', 'build: mix compile', 'format: mix format --check-formatted', 'test: mix test'],
  },
  {
    title: 'Flutter',
    files: { 'pubspec.yaml': 'dependencies:\n  flutter:\n    sdk: flutter\n' },
    managers: ['flutter (pubspec.yaml)'],
    commands: [
      'setup: flutter pub get',
      'lint: flutter analyze',
      'format: dart format --output=none --set-exit-if-changed .',
      'test: flutter test',
    ],
  },
  { title: 'an empty folder', files: {}, managers: [], commands: [] },
]
