import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { bareEnv, tempDir } from '../support/world.ts'
import { ROOT } from './source-tree.ts'

const INSTALL_TIMEOUT_MS = 300_000
/** npm's settings, without those about the folder of the npm that started this test. */
const NPM_NEEDS = new RegExp(
  `^(${[
    'PATH|HOME|LANG|TMPDIR',
    'npm_config_(?!(prefix|local_prefix|global|dry_run|json)$).*',
    'https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR',
  ].join('|')})$`,
  'i',
)
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }

test('the packed program installs into an empty prefix and runs there', async t => {
  const work = tempDir(t, 'pcc-package-')
  const tarball = pack(work)

  await t.test('the tarball holds the program, its docs and nothing else', () => {
    const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map(path => path.replace(/^package\//, ''))
    const expected =
      /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|bin\/pcc\.js|dist\/.+|docs\/.+\.(md|svg|png)|examples\/.+\.yaml)$/
    assert.deepEqual(
      files.filter(path => !expected.test(path)),
      [],
    )
    assert.deepEqual(
      files.filter(path => /\.(tsx?|map)$|\.test\.js$/.test(path)),
      [],
    )
    for (const path of ['README.md', 'CHANGELOG.md', 'LICENSE', 'bin/pcc.js', 'dist/cli/main.js', 'docs/errors.md']) {
      assert.ok(files.includes(path), `${path} is in the tarball`)
    }
  })

  const prefix = join(work, 'prefix')
  // Another prefix would move npm's global settings, and with them the registry, so they stay where they are.
  const globalconfig = npm(['config', 'get', 'globalconfig'], work)
  const where = ['--global', '--prefix', prefix, '--globalconfig', globalconfig]
  npm(['install', tarball, ...where, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], work)
  const pcc = (...args: string[]) => {
    const home = join(work, 'home')
    mkdirSync(home, { recursive: true })
    const env = { ...bareEnv(home), TMPDIR: work }
    return spawnSync(join(prefix, 'bin/pcc'), args, { cwd: work, env, encoding: 'utf8', timeout: 120_000 })
  }

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

/** Packs a copy of the checkout, so that other tests do not see a dist/ that is being rebuilt. */
function pack(work: string): string {
  const copy = join(work, 'checkout')
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, encoding: 'utf8' })
  for (const path of files.split('\0').filter(path => path !== '' && existsSync(join(ROOT, path)))) {
    cpSync(join(ROOT, path), join(copy, path))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  npm(['pack', '--pack-destination', work, '--loglevel=error'], copy)
  const [tarball] = readdirSync(work).filter(name => name.endsWith('.tgz'))
  assert.ok(tarball, 'npm pack made a tarball')
  return join(work, tarball)
}

/** Runs npm with only what it needs to reach the registry of this machine. */
function npm(args: string[], cwd: string): string {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => NPM_NEEDS.test(name)))
  const { status, signal, stdout, stderr } = spawnSync('npm', args, {
    cwd,
    env,
    encoding: 'utf8',
    timeout: INSTALL_TIMEOUT_MS,
  })
  assert.equal(status, 0, `npm ${args[0]} failed (${signal ?? `exit ${status}`}):\n${stdout}\n${stderr}`)
  return stdout.trim()
}

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
