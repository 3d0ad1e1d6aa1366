import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type Assessment, findUnlisted } from '../../src/domain/assessment.ts'
import { openClassifier } from '../../src/policy/classify/classify.ts'
import { tempDir } from '../support/world.ts'

/** Assesses a command in a project with these files. */
function assess(command: string, files: Record<string, string> = {}): Assessment {
  using classifier = openClassifier({
    realPath: path => path,
    look: path => {
      const name = path.replace('/proj/', '')
      const inside = Object.keys(files).filter(file => file.startsWith(`${name}/`))
      if (inside.length > 0) return { is: 'folder', names: inside.map(file => file.slice(name.length + 1)) }
      const found = files[name]
      return found === undefined ? undefined : { is: 'file', bytes: Buffer.from(found) }
    },
  })
  return classifier.classify({ tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' }) as Assessment
}

const namesIn = ({ reasons }: Assessment) => reasons.flatMap(reason => findUnlisted(reason) ?? [])

const NPM_LOCK = JSON.stringify({
  lockfileVersion: 3,
  packages: {
    '': { dependencies: { lodash: '^4' } },
    'node_modules/lodash': { version: '4.17.21' },
    'node_modules/@types/node': { version: '22.0.0' },
    'node_modules/a/node_modules/nested': { version: '1.0.0' },
  },
})

test('a package that no lock file names is MEDIUM, and named', () => {
  const rows: [string, string[]][] = [
    ['npm install left-pad', ['left-pad']],
    ['npm i -D @scope/evil@1.2.3 left-pad@latest', ['@scope/evil', 'left-pad']],
    ['npm install-test left-pad', ['left-pad']],
    ['npm it left-pad', ['left-pad']],
    ['npm add -- left-pad', ['left-pad']],
    ['pnpm add left-pad', ['left-pad']],
    ['pnpm i left-pad', ['left-pad']],
    ['yarn add left-pad', ['left-pad']],
    ['bun add left-pad', ['left-pad']],
    ['bun a left-pad', ['left-pad']],
    ['pip install evil', ['evil']],
    ['pip install install', ['install']],
    ['pip install -U "evil[dev]>=2"', ['evil']],
    ['python3 -m pip install evil', ['evil']],
    ['uv add evil', ['evil']],
    ['uv pip install evil', ['evil']],
    ['uv tool install evil', ['evil']],
    ['poetry add evil', ['evil']],
    ['pipenv install evil', ['evil']],
    ['cargo add evil', ['evil']],
    ['cargo install evil', ['evil']],
    ['go get example.com/evil/pkg@v1', ['example.com/evil/pkg']],
    ['go install example.com/evil@latest', ['example.com/evil']],
    ['go run example.com/evil@latest', ['example.com/evil']],
    ['gem install evil', ['evil']],
    ['bundle add evil', ['evil']],
    ['composer require evil/evil', ['evil/evil']],
    ['npx evil', ['evil']],
    ['npx prettier --check .', ['prettier']],
    ['npx -p evil tsc', ['evil']],
    ['yarn workspace web add left-pad', ['left-pad']],
    ['yarn workspaces foreach add left-pad', ['left-pad']],
    ['uv run --with evil python3 x.py', ['evil']],
    ['pip download evil', ['evil']],
    ['gem i evil', ['evil']],
    ['composer req evil/evil', ['evil/evil']],
    ['bunx evil', ['evil']],
    ['npm exec evil', ['evil']],
    ['pnpm dlx evil', ['evil']],
    ['uvx evil', ['evil']],
    ['uv tool run evil', ['evil']],
    ['pipx run evil', ['evil']],
    ['pipx install evil', ['evil']],
    ['cd sub && npm i left-pad', ['left-pad']],
  ]
  for (const [command, names] of rows) {
    const assessment = assess(command)
    assert.deepEqual([...new Set(namesIn(assessment))].toSorted(), names.toSorted(), command)
    assert.equal(assessment.risk, 'MEDIUM', command)
  }
})

test('a package that a lock file names stays LOW', () => {
  const rows: [string, Record<string, string>][] = [
    ['npm install lodash', { 'package-lock.json': NPM_LOCK }],
    ['npm install lodash@4.17.21 @types/node nested', { 'package-lock.json': NPM_LOCK }],
    ['cd packages/a && npm i lodash', { 'package-lock.json': NPM_LOCK }],
    ['npm i lodash', { 'npm-shrinkwrap.json': '{"lockfileVersion":1,"dependencies":{"lodash":{"version":"4"}}}' }],
    [
      'yarn add lodash',
      { 'yarn.lock': '# yarn lockfile v1\n\nlodash@^4.17.0, lodash@^4.17.21:\n  version "4.17.21"\n' },
    ],
    ['yarn add @types/node', { 'yarn.lock': '"@types/node@npm:^22":\n  version: 22.0.0\n' }],
    ['yarn add b', { 'yarn.lock': '"a@npm:^1, b@npm:^2":\n' }],
    ['pnpm add lodash', { 'pnpm-lock.yaml': 'packages:\n\n  lodash@4.17.21:\n    resolution: {}\n' }],
    ['pnpm add lodash', { 'pnpm-lock.yaml': 'packages:\n\n  /lodash/4.17.21:\n    resolution: {}\n' }],
    ['pnpm add @types/node', { 'pnpm-lock.yaml': "packages:\n\n  '@types/node@22.0.0':\n    resolution: {}\n" }],
    ['bun add lodash', { 'bun.lock': '{"packages": {"lodash": ["lodash@4.17.21", "", {}, "sha"]}}' }],
    ['pip install requests', { 'requirements.txt': 'flask==3\nRequests>=2 # why\n' }],
    ['pip install typing_extensions', { 'uv.lock': '[[package]]\nname = "typing-extensions"\n' }],
    ['poetry add requests', { 'poetry.lock': '[[package]]\nname = "requests"\n' }],
    ['pipenv install requests', { 'Pipfile.lock': '{"default": {"requests": {}}}' }],
    ['cargo add serde', { 'Cargo.lock': '[[package]]\nname = "serde"\n' }],
    ['bundle add rails', { 'Gemfile.lock': 'GEM\n  specs:\n    rails (7.1)\n' }],
    ['composer require a/b', { 'composer.lock': '{"packages": [{"name": "a/b"}]}' }],
    ['npx tsc', { 'node_modules/.bin/tsc': '' }],
    ['npm ci', { 'package.json': '{"dependencies":{"evil":"1"}}' }],
    ['npm uninstall evil', {}],
    ['npm install', { 'package.json': '{"dependencies":{"lodash":"4"}}', 'package-lock.json': NPM_LOCK }],
    ['yarn', { 'package.json': '{"dependencies":{"lodash":"4"}}', 'yarn.lock': 'lodash@4:\n' }],
    ['npm install', {}],
    ['npm install', { 'package.json': '{"dependencies":{"own":"workspace:*","near":"file:./near"}}' }],
    ['pip install -r requirements.txt', { 'requirements.txt': 'evil\n' }],
    ['pip install -e .', {}],
  ]
  for (const [command, files] of rows) {
    const assessment = assess(command, files)
    assert.deepEqual(namesIn(assessment), [], command)
    if (!/^(npm uninstall|bundle|composer)/.test(command)) assert.match(assessment.risk, /LOW|MEDIUM/, command)
  }
  assert.equal(assess('npm install lodash', { 'package-lock.json': NPM_LOCK }).risk, 'LOW')
  assert.equal(assess('cargo add serde', { 'Cargo.lock': 'name = "serde"\n' }).risk, 'LOW')
  assert.equal(assess('npx tsc', { 'node_modules/.bin/tsc': '' }).risk, 'LOW')
  assert.equal(assess('npm install', {}).risk, 'LOW')
})

test('a name that only looks like one of the lock file is not one', () => {
  const rows: [string, Record<string, string>][] = [
    ['npm i lodas', { 'package-lock.json': NPM_LOCK }],
    ['npm i node', { 'package-lock.json': NPM_LOCK }],
    ['npm i version', { 'package-lock.json': NPM_LOCK }],
    ['npm i packages', { 'package-lock.json': NPM_LOCK }],
    ['npm i lodash', { 'package-lock.json': `${NPM_LOCK}}` }],
    ['yarn add node', { 'yarn.lock': '"@types/node@npm:^22":\n  resolution: "x@npm:1"\n' }],
    ['yarn add odash', { 'yarn.lock': 'lodash@^4:\n' }],
    ['pnpm add dash', { 'pnpm-lock.yaml': '  lodash@4.17.21:\n' }],
    ['pip install request', { 'requirements.txt': 'requests\n' }],
    ['pip install requests', { 'requirements.txt': '# requests\n' }],
    ['pip install re.uests', { 'requirements.txt': 'requests\n' }],
    ['go get example.com/good/pkg', { 'go.sum': 'example.com/goodly v1.0.0 h1:x\n' }],
    // The lock file of another language, and one outside of the folder in which the command runs.
    ['npm i serde', { 'Cargo.lock': 'name = "serde"\n' }],
    ['cd "$X" && npm i lodash', { 'package-lock.json': NPM_LOCK }],
    ['npm i lodash', { 'sub/package-lock.json': NPM_LOCK }],
  ]
  for (const [command, files] of rows) assert.equal(namesIn(assess(command, files)).length, 1, command)
})

test('what is added to package.json is named by an install without names', () => {
  const files = {
    'package.json':
      '{"dependencies":{"lodash":"4","evil":"^1"},"devDependencies":{"worse":"*"},"optionalDependencies":{"nested":"npm:disguised@1"}}',
    'package-lock.json': NPM_LOCK,
  }
  for (const command of ['npm install', 'npm i', 'pnpm install', 'yarn', 'yarn install', 'bun install', 'npm update']) {
    const assessment = assess(command, files)
    assert.deepEqual(namesIn(assessment), ['evil', 'worse', 'disguised'], command)
    assert.equal(assessment.risk, 'MEDIUM', command)
  }
})

test('on the disk, a lock file of some megabytes is read, and a link out of the project is not', async t => {
  const project = tempDir(t)
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), text)
  }
  const packages = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, n) => [
      `node_modules/package-${n}`,
      { version: '1.0.0', integrity: 'x'.repeat(80) },
    ]),
  )
  write('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages }))
  const outside = tempDir(t)
  writeFileSync(join(outside, 'yarn.lock'), 'evil@^1:\n')
  symlinkSync(join(outside, 'yarn.lock'), join(project, 'yarn.lock'))
  using classifier = openClassifier()
  const names = async (command: string) =>
    namesIn(await classifier.classify({ tool: 'Bash', input: { command }, project, home: '/home/u' }))
  assert.deepEqual(await names('npm i package-19999'), [])
  assert.deepEqual(await names('npm i package-20001'), ['package-20001'])
  assert.deepEqual(await names('npm i evil'), ['evil'])
})
