import assert from 'node:assert/strict'
import { test } from 'node:test'
import { installRule } from '../../../../src/workspace/verify/diff/config-rules.ts'
import { changeOf } from './change-of.ts'

const SETTINGS = { maxChangedLines: 0, forbiddenPaths: [], allow: [] }
const weights = (path: string, before: string | undefined, after: string) =>
  installRule(changeOf(path, before, after), SETTINGS).map(({ weight }) => weight)
const json = (value: object) => JSON.stringify(value, null, 2)
const dev = (runner: string, more: object = {}) => json({ ...more, devDependencies: { runner } })
const entry = {
  version: '1.0.0',
  resolved: 'https://packages.example/runner/-/runner-1.0.0.tgz',
  integrity: 'sha512-a',
}
const lock = (runner: object, more: object = {}) =>
  json({ packages: { '': {}, 'node_modules/runner': runner, ...more } })

test('a script that runs while packages are installed is looked at by a person, new or changed', () => {
  const before = dev('^1.0.0', { scripts: { test: 'runner' } })
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare', 'dependencies'])
    assert.deepEqual(
      weights('package.json', before, dev('^1.0.0', { scripts: { test: 'runner', [name]: 'node tools/x.js' } })),
      ['review'],
      name,
    )
  const husky = dev('^1.0.0', { scripts: { prepare: 'husky' } })
  assert.deepEqual(weights('package.json', husky, husky.replace('"husky"', '"node x.js"')), ['review'])
  assert.deepEqual(weights('package.json', husky, husky.replace('^1.0.0', '^1.1.0')), [], 'it was there before')
  const more = dev('^1.0.0', { scripts: { test: 'runner', build: 'tsc', 'preinstalled-check': 'x' } })
  assert.deepEqual(weights('package.json', before, more), [])
})

test('a package that was there before and comes from another place now is looked at; a new version or a new package is not', () => {
  for (const from of ['file:./p', 'link:../p', 'workspace:*', 'git+ssh://x/y', 'npm:other@1', './p', 'someone/runner'])
    assert.deepEqual(weights('package.json', dev('^1.0.0'), dev(from)), ['review'], from)
  assert.deepEqual(weights('package.json', dev('^1.0.0'), dev('^2.0.0')), [])
  const added = json({ dependencies: { own: 'workspace:*' }, devDependencies: { runner: '^1.0.0' } })
  assert.deepEqual(weights('package.json', dev('^1.0.0'), added), [])
  for (const section of ['overrides', 'resolutions'])
    assert.deepEqual(weights('package.json', dev('^1.0.0'), dev('^1.0.0', { [section]: { runner: '1.0.1' } })), [
      'review',
    ])
})

test('a lock file that gives a package other content is looked at, whatever the manifest says', () => {
  const before = lock(entry)
  for (const [name, after] of Object.entries({
    linked: lock({ resolved: 'packages/reporting', link: true }),
    'of another server': lock({ ...entry, resolved: 'https://elsewhere.example/runner.tgz' }),
    'of the same version': lock({ ...entry, integrity: 'sha512-b' }),
    'without a hash': lock({ version: entry.version, resolved: entry.resolved }),
  }))
    assert.deepEqual(weights('package-lock.json', before, after), ['review'], name)
  const next = { version: '1.1.0', resolved: entry.resolved.replaceAll('1.0.0', '1.1.0'), integrity: 'sha512-c' }
  assert.deepEqual(weights('package-lock.json', before, lock(next)), [])
  assert.deepEqual(weights('package-lock.json', before, lock(entry, { 'node_modules/other': next })), [])
})

test('the same holds for manifests and lock files of other languages', () => {
  const rows: [path: string, before: string, honest: string, odd: string][] = [
    ['go.mod', 'require a.b/c v1.0.0\n', 'require a.b/d v1.1.0\n', 'replace a.b/c => ./local\n'],
    ['requirements-dev.txt', 'pytest==8.0\n', 'httpx==0.27\n', '--index-url https://elsewhere.example\n'],
    ['requirements.txt', 'pytest==8.0\n', 'rich>=13\n', 'pytest @ file:./tools/pytest\n'],
    ['pyproject.toml', '[tool.uv.sources]\n', 'rich = "^13"\n', 'pytest = { path = "tools/pytest" }\n'],
    [
      'uv.lock',
      '[[package]]\n',
      'source = { registry = "https://packages.example/simple" }\n',
      'source = { directory = "t" }\n',
    ],
    ['Cargo.toml', '[dependencies]\n', 'serde = "1"\n', '[patch.crates-io]\n'],
    ['yarn.lock', '# yarn\n', '  resolved "https://packages.example/a/-/a-1.tgz#1"\n', '  resolved "file:./p"\n'],
    [
      'pnpm-lock.yaml',
      'tarball: https://one.example/a.tgz\n',
      'tarball: https://one.example/b.tgz\n',
      'tarball: https://two.example/a.tgz\n',
    ],
    ['Gemfile', 'gem "rspec"\n', 'gem "rake"\n', 'gem "rspec", path: "./tools"\n'],
  ]
  for (const [path, before, honest, odd] of rows) {
    assert.deepEqual(weights(path, before, before + honest), [], `${path}: ${honest}`)
    assert.deepEqual(weights(path, before, before + odd), ['review'], `${path}: ${odd}`)
  }
})
