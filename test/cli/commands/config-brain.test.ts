import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import type { ModelKind } from '../../../src/domain/option-values.ts'
import { JUDGE_APPLE, KEY, openVendor, type Step, type Vendor } from '../../brain/vendors.ts'
import { onTerminal } from '../../e2e/pty.ts'
import { BIN } from '../../support/program.ts'
import { pccFor } from '../pcc.ts'

const APPLE: Step = { says: JUDGE_APPLE }

async function setUp(t: TestContext, kind: ModelKind, steps: [Step, ...Step[]] = [APPLE]) {
  const vendor = await openVendor(t, kind, steps)
  const { HOME: _home, ...env } = vendor.env
  const pcc = pccFor(t, env)
  const { configFile } = appPathsFor({ env: pcc.env })
  const text = () => (existsSync(configFile) ? readFileSync(configFile, 'utf8') : undefined)
  return { vendor, pcc, configFile, text }
}

/** The address of the vendor, as `--url` takes it. */
function urlOf({ settings }: Vendor): string {
  const url = settings['brain.gemini.base_url'] ?? settings['brain.ollama.host']
  return url ?? settings['brain.openai_compatible.base_url'] ?? ''
}

test('gemini is set up with the name of a variable once it has answered, and the key is in no file', async t => {
  const { vendor, pcc, configFile, text } = await setUp(t, 'gemini')
  const set = ['config', 'brain', 'gemini', '--url', urlOf(vendor), '--key-env', 'GEMINI_API_KEY']
  const { code, stdout, stderr } = await pcc.run(set)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^gemini answers: gemini-2\.0-flash said "Apple" to a test question \(\d+ ms\)\.$/m)
  assert.match(stdout, /^brain\.type = "gemini"/m)
  assert.match(text() ?? '', /api_key = "env:GEMINI_API_KEY"/)
  assert.ok(!text()?.includes(KEY))
  assert.equal(statSync(configFile).mode & 0o777, 0o600)
})

test('a key that is typed is shown nowhere and kept in a file of mode 600', async t => {
  const { vendor, pcc, configFile, text } = await setUp(t, 'gemini')
  const terminal = onTerminal(t, pcc, ['config', 'brain', 'gemini', '--url', urlOf(vendor)], { GEMINI_API_KEY: '' })
  await terminal.see(/API key, secret:NAME or env:NAME/)
  terminal.type(`${KEY}\r`)
  await terminal.see(/gemini answers/)
  await terminal.see(/api_key = "\*+"/)
  assert.equal(await terminal.exit, 0)
  assert.ok(!terminal.raw().includes(KEY))
  assert.ok(text()?.includes(`api_key = "${KEY}"`))
  assert.equal(statSync(configFile).mode & 0o777, 0o600)
})

test('a key can come through standard input', async t => {
  const { vendor, pcc, text } = await setUp(t, 'gemini')
  const args = [BIN, 'config', 'brain', 'gemini', '--url', urlOf(vendor), '--key-stdin']
  const child = spawn(process.execPath, args, {
    env: { ...pcc.env, GEMINI_API_KEY: '' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.stdin.end(`${KEY}\n`)
  await once(child, 'close')
  assert.equal(child.exitCode, 0)
  assert.ok(text()?.includes(`api_key = "${KEY}"`))
})

test('giving up at the question for the key changes nothing', async t => {
  const { vendor, pcc, text } = await setUp(t, 'gemini')
  const terminal = onTerminal(t, pcc, ['config', 'brain', 'gemini', '--url', urlOf(vendor)])
  await terminal.see(/API key/)
  terminal.type('\x03')
  assert.equal(await terminal.exit, 3)
  assert.equal(text(), undefined)
})

test('a wrong key, a model that is not there and a key that nobody gave change nothing', async t => {
  const { vendor, pcc, text } = await setUp(t, 'gemini')
  const set = ['config', 'brain', 'gemini', '--url', urlOf(vendor)]
  const wrong = await pcc.run([...set, '--key-env', 'GEMINI_API_KEY'], { env: { GEMINI_API_KEY: 'wrong-key-00000' } })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /gemini cannot be used: its server refuses: status 401/)
  const typo = await pcc.run([...set, '--key-env', 'GEMINI_API_KEY', '--model', 'gemini-2.0-flsh'])
  assert.match(typo.stderr, /it has no model "gemini-2\.0-flsh"; did you mean "gemini-2\.0-flash"\?/)
  const unset = await pcc.run([...set, '--key-env', 'NO_SUCH_KEY'])
  assert.match(unset.stderr, /takes its key from NO_SUCH_KEY, which is not set here/)
  const none = await pcc.run(set)
  assert.equal(none.code, 2)
  assert.match(none.stderr, /needs its API key[\s\S]*--key-env NAME or --key-stdin/)
  assert.equal(text(), undefined)
})

test('a brain that cannot answer the test question is not set up, unless one says --no-test', async t => {
  const { vendor, pcc, text } = await setUp(t, 'gemini', [{ status: 429, message: 'Quota exceeded' }])
  const set = ['config', 'brain', 'gemini', '--url', urlOf(vendor), '--key-env', 'GEMINI_API_KEY']
  const refused = await pcc.run(set)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /gemini cannot be used: .*429/)
  assert.equal(text(), undefined)
  const kept = await pcc.run([...set, '--no-test', '--json'])
  assert.equal(kept.code, 0)
  const { test: tested, settings } = JSON.parse(kept.stdout)
  assert.deepEqual([tested, settings['brain.type']], [null, 'gemini'])
  assert.match(text() ?? '', /type = "gemini"/)
})

test('ollama that does not run, and a model that was not pulled, are reported with the remedy', async t => {
  const { vendor, pcc, text } = await setUp(t, 'ollama')
  const absent = await pcc.run(['config', 'brain', 'ollama', '--url', 'http://127.0.0.1:1', '--model', 'llama3.2:1b'])
  assert.match(absent.stderr, /nothing answers at http:\/\/127\.0\.0\.1:1[\s\S]*ollama serve/)
  const set = ['config', 'brain', 'ollama', '--url', urlOf(vendor)]
  const unpulled = await pcc.run([...set, '--model', 'deepseek-coder:33b'])
  assert.match(
    unpulled.stderr,
    /no model "deepseek-coder:33b"[\s\S]*It has: llama3\.2:1b[\s\S]*ollama pull deepseek-coder:33b/,
  )
  assert.match((await pcc.run(set)).stderr, /needs a model/)
  assert.equal(text(), undefined)
})

test('the model is chosen from those that ollama has', async t => {
  const { vendor, pcc, text } = await setUp(t, 'ollama')
  const terminal = onTerminal(t, pcc, ['config', 'brain', 'ollama', '--url', urlOf(vendor)])
  await terminal.see(/Model[\s\S]*llama3\.2:1b/)
  terminal.type('\r')
  await terminal.see(/ollama answers: llama3\.2:1b said "Apple"/)
  assert.equal(await terminal.exit, 0)
  assert.match(text() ?? '', /model = "llama3\.2:1b"/)
})

test('an endpoint that takes no schema is asked without one from then on', async t => {
  const { vendor, pcc, text } = await setUp(t, 'openai-compatible', [
    { status: 400, message: 'response_format json_schema is not supported' },
    APPLE,
  ])
  const set = ['config', 'brain', 'openai-compatible', '--url', urlOf(vendor), '--model', 'local-model']
  const { code, stderr } = await pcc.run([...set, '--key-env', 'GEMINI_API_KEY'])
  assert.equal(code, 0, stderr)
  assert.match(text() ?? '', /json_schema = false/)
  assert.match(vendor.asked()[0] ?? '', /"type":"json_schema"/)
  assert.doesNotMatch(vendor.asked()[1] ?? '', /"type":"json_schema"/)
})

test('claude needs nothing but its login', async t => {
  const { pcc, text } = await setUp(t, 'claude')
  const { code, stdout, stderr } = await pcc.run(['config', 'brain', 'claude', '--json'])
  assert.equal(code, 0, stderr)
  assert.equal(JSON.parse(stdout).test.answer, 'Apple')
  assert.match(text() ?? '', /type = "claude"/)
})

test('none means only rules; options that do not fit a kind are refused, and so is an agent', async t => {
  const pcc = pccFor(t)
  assert.match((await pcc.run(['config', 'brain', 'none'])).stdout, /brain\.type = "none"/)
  for (const args of [
    ['claude', '--key-env', 'X'],
    ['none', '--model', 'x'],
    ['gemini', '--key-env', 'X', '--key-stdin'],
    ['skynet'],
  ])
    assert.equal((await pcc.run(['config', 'brain', ...args])).code, 2, args.join(' '))
  const inside = await pcc.run(['config', 'brain', 'none'], { env: { PCC_SESSION_MARK: 'x' } })
  assert.match(inside.stderr, /config brain none/)
  assert.notEqual(inside.code, 0)
})
