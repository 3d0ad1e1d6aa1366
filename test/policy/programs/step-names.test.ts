import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgePermission } from '../../../src/brain/rules/permission.ts'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { mayStandForFar, reachesBeyond } from '../../../src/policy/programs/step-names.ts'

const classifier = openClassifier({ realPath: path => path })

/** Whether a command runs unasked, is asked about, or is HIGH. */
function verdict(command: string): 'runs' | 'asked' | 'HIGH' {
  const request = { tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' }
  const assessment = classifier.classify(request) as Assessment
  if (assessment.risk === 'HIGH') return 'HIGH'
  return assessment.risk === 'LOW' || judgePermission(assessment).approve ? 'runs' : 'asked'
}

test('the name of a step is read by its parts', () => {
  const far = `deploy lib:publish :lib:publish core/publish publishToMavenLocal db:seed:replant ecto.rollback terraform-apply flyway:clean
    build,deploy closeAndReleaseRepository jib:build db:reset migrate:down gh-deploy docker-push releaseAll web.deploy prisma-migrate-reset undeploy k8s_apply`
  const near = `build test assembleRelease testReleaseUnitTest lint:fix spotlessApply docker:build jib:dockerBuild format check typecheck
    clean reset-cache db:migrate ecto.migrate generate dev start up storybook:build deployer.test`
  for (const step of far.split(/\s+/)) assert.equal(reachesBeyond(step), true, step)
  for (const step of near.split(/\s+/)) assert.equal(reachesBeyond(step), false, step)
})

test('every build tool asks about a step that reaches beyond the project, however it is spelt', () => {
  const far = [
    ...['gradle lib:publish', './gradlew :lib:publish', 'mvn com.x:y:1.0:test', 'mvn flyway:clean', 'mvn jib:build'],
    ...[
      'rake db:seed:replant',
      'mix ecto.rollback',
      'make terraform-apply',
      'nx run-many -t deploy',
      'npm run x -- destroy',
    ],
    ...[
      'pnpm core/publish',
      'npm run db:reset',
      'npm run release',
      'bazel run core/publish',
      'bazel run //core:publish',
    ],
    ...[
      './deploy.sh',
      './scripts/run.sh deploy',
      'bash tools/deploy.sh',
      'node scripts/deploy.js',
      'node cli.js publish',
    ],
    ...[
      'cargo run -- deploy',
      'cargo xtask release',
      'go run ./cmd/cli publish',
      'nox -s publish',
      'tox -e lint,release',
    ],
    ...['deno task deploy', 'zig build deploy', 'python tools/release.py', 'uv run deploy.py'],
  ]
  for (const command of far) assert.notEqual(verdict(command), 'runs', command)
  const near = [
    ...[
      'gradle assembleRelease',
      'mvn clean install -DskipTests',
      'mvn test',
      'nx run-many -t build',
      'nx build deploy-tool',
    ],
    ...[
      'npm test -- deploy',
      'jest src/deploy.test.ts',
      'vitest run deploy',
      'pytest tests/test_deploy.py',
      'make V=1 test',
    ],
    ...[
      'cargo run -- list',
      'tox -e lint',
      'python tests/test_deploy.py',
      'node scripts/build.js',
      './scripts/test.sh',
    ],
  ]
  for (const command of near) assert.equal(verdict(command), 'runs', command)
})

test('a flag that holds a command is judged by that command', () => {
  const rows = [
    ...[
      "tox -x 'testenv.commands=rm -rf src'",
      "tsup --onSuccess 'rm -rf src'",
      "ginkgo --after-run-hook 'rm -rf src'",
    ],
    ...[
      "cdk --app 'rm -rf src' synth",
      "deno task --eval 'rm -rf src'",
      "make CC='rm -rf src' all",
      "tsc-watch --onSuccess 'rm -rf src'",
    ],
    ...["chokidar src -c 'rm -rf src'", 'mix eval \'File.rm_rf("src")\''],
  ]
  for (const command of rows) assert.equal(verdict(command), 'HIGH', command)
  assert.equal(verdict("tsup --onSuccess 'node dist/x.js'"), 'asked')
})

test('a program that starts a shell where nothing follows runs what it reads', () => {
  const starters = [
    'script -q /dev/null',
    'linux64',
    'linux32',
    'setarch x86_64',
    'fakeroot',
    'unshare -r',
    'runuser -u x',
    'setpriv --nnp',
  ]
  const others = [
    'chroot /',
    'nsenter -t 1',
    'flock /tmp/x sh',
    'expect',
    'ssh localhost',
    'at now',
    'batch',
    'systemd-run --pipe sh',
    'screen',
    'tmux',
    'watch sh',
    'entr sh',
  ]
  for (const program of starters) {
    assert.equal(verdict(`echo 'rm -rf src' | ${program}`), 'HIGH', program)
    assert.equal(verdict(`${program} <<< 'rm -rf src'`), 'HIGH', program)
  }
  for (const program of others) {
    assert.notEqual(verdict(`echo 'rm -rf src' | ${program}`), 'runs', program)
    assert.notEqual(verdict(`${program} <<< 'rm -rf src'`), 'runs', program)
  }
  assert.equal(verdict('linux64 npm test'), 'runs')
})

test('work that is thrown away is asked about, however the flag is spelt', () => {
  for (const command of [
    'git reset --h',
    'git checkout --f',
    'git switch --disc main',
    'git switch -qf main',
    'rsync -a --del a/ b/',
    'git clean -qf',
  ])
    assert.equal(verdict(command), 'HIGH', command)
  assert.equal(verdict('git restore src/a.ts'), 'asked')
  assert.equal(verdict('git restore --staged src/a.ts'), 'runs')
})

test('the beginning of a step that reaches beyond the project counts like the step, for tools that complete names', () => {
  const far = 'pAPTMCR pTML pub :lib:publ dep rel upl fC fCl lib:pTML unp d:s:d doc:sch:dr d:d:d'
  const near = `assembleDebug aD cC bootRun runIde run devServer generateProto dependencyUpdates dokkaHtml sourcesJar printVersion
    prepareDev shadowJar apiDump databaseTest e2eTest detektBaseline openApiGenerate cache:clear c:c debug:router d:m:m make:entity lint:yaml
    doctrine:migrations:migrate reportCoverage resolveAll`
  for (const step of far.split(' ')) assert.equal(mayStandForFar(step), true, step)
  for (const step of near.split(/\s+/)) assert.equal(mayStandForFar(step), false, step)
  for (const command of [
    './gradlew pTML',
    'gradle :lib:pub',
    'php bin/console d:s:d --force',
    'php bin/console doc:sch:dr',
  ])
    assert.equal(verdict(command), 'asked', command)
  for (const command of [
    './gradlew aD',
    'gradle dokkaHtml',
    'php bin/console cache:clear',
    'php bin/console d:m:m',
    'make pub',
  ])
    assert.equal(verdict(command), 'runs', command)
})

test('what is fed to a console runs, and a file, a test or a build is no console', () => {
  for (const command of [
    "echo 'x' | dotnet fsi --quiet",
    "echo 'x' | sbt console",
    "printf ':!ls' | stack ghci",
    "swift repl <<'X'\nimport Foundation\nX",
    'crystal eval < notes.cr',
    "echo '!import os' | python3 -m pdb app.py",
    "echo 'exec(x)' | node inspect app.js",
    "echo 'x' | rebar3 shell",
    "echo 'x' | cabal repl",
  ])
    assert.equal(verdict(command), 'HIGH', command)
  for (const command of ['dotnet fsi', 'dotnet frobnicate']) assert.equal(verdict(command), 'asked', command)
  for (const command of [
    'dotnet fsi build.fsx',
    'dotnet csharpier .',
    'dotnet test',
    'dotnet run',
    'dotnet bin/app.dll',
    'echo 1 | dotnet run',
    'sbt test',
    'swift build',
    'python3 -m pytest -q',
    'crystal spec',
  ])
    assert.equal(verdict(command), 'runs', command)
})
