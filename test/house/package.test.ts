import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { filesIn, install, pack } from '../../scripts/pack.ts'
import { bareEnv, tempDir } from '../support/world.ts'
import { ROOT } from './source-tree.ts'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }

/** What `import type` of `perpetualcc/client` finds. */
const CLIENT_TYPES = 'dist/client/types/domain/api-v1/client.d.ts'

test('the packed program installs into an empty prefix and runs there', async t => {
  const work = tempDir(t, 'pcc-package-')
  const tarball = pack(work)

  await t.test('the tarball holds the program, its docs and nothing else', () => {
    const files = filesIn(tarball)
    const expected =
      /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|bin\/pcc\.js|dist\/.+|docs\/(openapi\.json|.+\.(md|svg|png))|examples\/.+\.yaml)$/
    assert.deepEqual(
      files.filter(path => !expected.test(path)),
      [],
    )
    assert.deepEqual(
      files.filter(path => /(?<!\.d)\.tsx?$|\.map$|\.test\.js$/.test(path)),
      [],
    )
    for (const path of [
      'README.md',
      'CHANGELOG.md',
      'LICENSE',
      'bin/pcc.js',
      'dist/cli/main.js',
      'docs/errors.md',
      CLIENT_TYPES,
    ]) {
      assert.ok(files.includes(path), `${path} is in the tarball`)
    }
  })

  const prefix = join(work, 'prefix')
  install(tarball, prefix, work)
  const pcc = (...args: string[]) => pccWith('', ...args)
  const pccWith = (input: string, ...args: string[]) => {
    const home = join(work, 'home')
    mkdirSync(home, { recursive: true })
    const env = { ...bareEnv(home), TMPDIR: work }
    return spawnSync(join(prefix, 'bin/pcc'), args, { cwd: work, env, input, encoding: 'utf8', timeout: 120_000 })
  }

  await t.test('every file that another one imports, at once or on use, is in it', () => {
    const dist = join(prefix, 'lib/node_modules/perpetualcc/dist')
    const scripts = globSync('**/*.{js,cjs}', { cwd: dist })
    const missing = scripts.flatMap(file => {
      const imports = readFileSync(join(dist, file), 'utf8').matchAll(/(?:\bfrom|\bimport|\(|=)\s*"(\.[^"\s]+\.js)"/g)
      return [...imports].flatMap(([, path = '']) =>
        existsSync(join(dist, dirname(file), path)) ? [] : [`${file}: ${path}`],
      )
    })
    assert.deepEqual(missing, [])
    assert.ok(scripts.length > 100, 'the check sees files')
  })

  await t.test('it says its version', () => {
    const { status, stdout, stderr } = pcc('--version')
    assert.deepEqual({ status, stdout: stdout.trim(), stderr }, { status: 0, stdout: version, stderr: '' })
  })

  await t.test('it runs the demo: the real agent, supervised, without an account', () => {
    const { status, stdout, stderr } = pcc('demo')
    assert.equal(status, 0, `${stdout}\n${stderr}`)
    assert.match(stdout, /auto-approved/)
    assert.match(stdout, /denied|refused/i)
  })

  // Last, because whoever calls a hook is taken for an agent from then on.
  await t.test('its hooks judge without a daemon, the second one with what the first has compiled', () => {
    const home = join(work, 'hooked')
    const call = { hook_event_name: 'PreToolUse', session_id: 's', cwd: work, tool_name: 'Bash' }
    for (const [command, verdict] of [
      ['ls', '"allow"'],
      ['git push --force', '"deny"'],
    ]) {
      const input = JSON.stringify({ ...call, tool_input: { command } })
      const { stdout, stderr } = pccWith(input, 'hook', 'claude', 'PreToolUse', '--home', home)
      assert.ok(stdout.includes(verdict ?? ''), stdout)
      assert.equal(stderr, '')
      assert.equal(readdirSync(join(home, 'hooks/cache')).filter(name => name.startsWith('answer-inline')).length, 1)
    }
  })
})

test('on a Node below 24 the program says so in one line and imports nothing', async t => {
  // Alone in an empty folder, so there is nothing to import.
  const alone = tempDir(t)
  mkdirSync(join(alone, 'bin'))
  cpSync(join(ROOT, 'bin/pcc.js'), join(alone, 'bin/pcc.js'))
  cpSync(join(ROOT, 'package.json'), join(alone, 'package.json'))
  const run = (node: string, ...before: string[]) =>
    spawnSync(node, [...before, 'bin/pcc.js', 'list'], { cwd: alone, env: bareEnv(alone), encoding: 'utf8' })

  await t.test('on a Node that only says it is older', () => {
    const pretend = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.11.0' } })"
    const { status, stdout, stderr } = run(process.execPath, '--import', `data:text/javascript,${pretend}`)
    assert.deepEqual({ status, stdout }, { status: 1, stdout: '' })
    assert.match(stderr, /^pcc needs Node 24 or newer; this is Node 22\.11\.0\. [^\n]+\n$/)
  })

  for (const { path, found } of olderNodes()) {
    await t.test(`on the Node ${found} of this machine`, () => {
      const { status, stdout, stderr } = run(path)
      assert.deepEqual({ status, stdout }, { status: 1, stdout: '' })
      assert.match(stderr, /^pcc needs Node 24 or newer; this is Node [^\n]+\n$/)
      assert.ok(stderr.includes(found))
    })
  }
})

/** Programs named `node` on the PATH, outside node_modules, that are too old. */
function olderNodes(): { path: string; found: string }[] {
  const paths = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']
  return [...new Set(paths)]
    .filter(dir => dir !== '' && !dir.includes('node_modules') && dir !== dirname(process.execPath))
    .map(dir => join(dir, 'node'))
    .filter(path => existsSync(path))
    .map(path => ({
      path,
      found: spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.trim(),
    }))
    .filter(({ found }) => Number(found.split('.')[0]) < 24)
    .slice(0, 1)
}
