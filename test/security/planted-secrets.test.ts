import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { keyFile, secretsFolder, vaultFile } from '../../src/base/secrets/vault.ts'
import { reply } from '../brain/sample.ts'
import { KEY, openVendor } from '../brain/vendors.ts'
import { agentSessions, bodiesOf } from '../daemon/agent-sessions.ts'
import { viewWhen } from '../daemon/daemon-process.ts'
import { receiver } from '../human/notify/notify-harness.ts'
import { BIN } from '../support/program.ts'
import { bareEnv } from '../support/world.ts'

const SCENARIO = `
conversations:
  - match: look around
    turns:
      - tools: [{ Bash: { command: node probe.js, description: look } }]
      - tools: [{ AskUserQuestion: { questions: [{ question: "Which shape?", header: "", multiSelect: false, options: [{ label: round, description: "" }, { label: square, description: "" }] }] } }]
      - text: "It said: {{last_tool_result}}"
`
const TOKEN = 'tk-planted-token-of-ntfy'
/** Without the shape of any vendor's key: it is removed because it is known, not because it is recognised. */
const AGENT_KEY = 'planted-value-of-the-agent'
const HOOK = 'planted-secret-of-a-webhook'
const UNUSED = 'planted-value-that-nobody-uses'

/** Prints all that a process of an agent can see of secrets. */
const probe = (files: string[]) => `
const { readFileSync, readdirSync } = require('node:fs')
const read = file => { try { return readFileSync(file, 'latin1') } catch (error) { return String(error.code) } }
// Without the mounts of the sandbox: the agent cuts a longer output.
const words = line => line.split('\\0').filter(word => !/^(--|[/])/.test(word)).join(' ')
for (const file of ${JSON.stringify(files)}) console.log('file: ' + read(file))
for (const pid of readdirSync('/proc').filter(name => /^\\d+$/.test(name)))
  console.log(pid, words(read('/proc/' + pid + '/cmdline')), read('/proc/' + pid + '/environ'))
console.log('variable: ' + process.env.GIVEN_TO_CLAUDE)
`

test('secrets lie nowhere in the clear: not on disk, in logs, in arguments or in what an agent sees', {
  timeout: 120_000,
}, async t => {
  const gemini = await openVendor(t, 'gemini', [{ says: reply(['square']) }])
  const ntfy = await receiver(t)
  const world = await agentSessions(t, SCENARIO, {
    env: {
      PCC_BRAIN_TYPE: 'gemini',
      PCC_BRAIN_GEMINI_API_KEY: 'secret:gemini',
      PCC_BRAIN_GEMINI_BASE_URL: String(gemini.settings['brain.gemini.base_url']),
      PCC_NOTIFICATIONS_NTFY_SERVER: ntfy.url,
      PCC_NOTIFICATIONS_NTFY_TOPIC: 'topic-of-the-test',
      PCC_NOTIFICATIONS_NTFY_TOKEN: 'secret:ntfy',
      PCC_WEBHOOKS_GITHUB_SECRET: 'secret:hook',
      PCC_AGENTS_SECRET_ENV: 'claude:GIVEN_TO_CLAUDE=agent',
      PCC_SECRETS_STORE: 'file',
      PCC_LOGS_LEVEL: 'debug',
    },
  })
  const { daemon, project } = world
  const pcc = async (args: string[], input = '', more: Record<string, string> = {}) => {
    const env = { ...bareEnv(daemon.home), PCC_HOME: daemon.paths.home, PCC_SECRETS_STORE: 'file', ...more }
    const child = spawn(process.execPath, [BIN, ...args], { env, stdio: 'pipe' })
    child.stdin.end(input)
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode, stdout, stderr }
  }
  // The daemon has started without them: what is set now counts at once.
  const values = { gemini: KEY, ntfy: TOKEN, agent: AGENT_KEY, hook: HOOK, unused: UNUSED }
  for (const [name, value] of Object.entries(values)) {
    const set = await pcc(['secrets', 'set', name], `${value}\n`)
    assert.equal(set.code, 0, set.stderr)
    assert.match(set.stdout, new RegExp(`^${name} is stored in the encrypted file`))
  }
  const { body } = await daemon.call<{ webhooks: { problem: string | null }[] }>('GET', '/webhooks/setup')
  assert.equal(body.webhooks[0]?.problem, null, 'the webhook has its secret')
  const files = [vaultFile(daemon.paths), keyFile(daemon.paths)]
  writeFileSync(join(project, 'probe.js'), probe(files))
  const { id } = await world.start('look around')
  await gemini.heard
  const running = readProcesses()
  for (const value of Object.values(values)) assert.deepEqual(filesWith(value, [daemon.home, project]), [], value)
  const view = await viewWhen(daemon, id, ({ status }) => status === 'completed' || status === 'waiting_input')
  assert.equal(view.status, 'completed', gemini.asked().join('\n').slice(0, 300))
  assert.equal((await ntfy.nth(1)).headers['authorization'], `Bearer ${TOKEN}`, 'the channel was opened with its token')

  // What the agent saw: neither the files nor the values, except the one that the settings give to it.
  const events = await world.log(id)
  const seen = JSON.stringify(world.simulator.requests)
  assert.match(seen, new RegExp(`variable: ${AGENT_KEY}`), 'the probe ran, and the agent has its variable')
  assert.equal(bodiesOf(events, 'agent.started')[0]?.sandboxed, true)
  assert.equal(seen.split('file: ENOENT').length - 1 >= 2, true, 'the sandbox hides the file and the key')
  for (const value of [KEY, TOKEN, HOOK, UNUSED, readFileSync(keyFile(daemon.paths), 'utf8').trim()])
    assert.ok(!seen.includes(value), value)

  const listed = await pcc(['secrets', 'list', '--check', '--json'], '', { PCC_BRAIN_GEMINI_API_KEY: 'secret:gemini' })
  assert.deepEqual(
    JSON.parse(listed.stdout).secrets.map((each: Record<string, unknown>) => [
      each['name'],
      each['in'],
      each['problem'],
    ]),
    ['agent', 'gemini', 'hook', 'ntfy', 'unused'].map(name => [name, 'file', null]),
  )
  daemon.child.kill('SIGKILL')
  await daemon.ended
  for (const value of Object.values(values)) {
    assert.ok(!JSON.stringify([events, view, listed]).includes(value), `an event has ${value}`)
    assert.ok(!running.arguments.includes(value), `an argument is ${value}`)
    assert.deepEqual(filesWith(value, [daemon.home, project]), [], value)
  }
  for (const value of [KEY, TOKEN, HOOK, UNUSED])
    assert.ok(!running.environments.includes(value), `a variable is ${value}`)
  assert.ok(running.environments.includes(AGENT_KEY), 'the look saw the agent')
  assert.deepEqual(
    readdirSync(secretsFolder(daemon.paths)).map(
      name => statSync(join(secretsFolder(daemon.paths), name)).mode & 0o077,
    ),
    readdirSync(secretsFolder(daemon.paths)).map(() => 0),
  )
})

/** The arguments of all processes, and the environments of those that belong to agents. */
function readProcesses(): { arguments: string; environments: string } {
  const seen = { arguments: '', environments: '' }
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      seen.arguments += readFileSync(`/proc/${pid}/cmdline`, 'latin1')
      const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
      if (environment.includes('PCC_SESSION_MARK=')) seen.environments += environment
    } catch {
      // It ended meanwhile.
    }
  }
  return seen
}

/** The files below these folders that contain a text. */
function filesWith(value: string, folders: string[]): string[] {
  return folders.flatMap(folder =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
      .filter(file => readFileSync(file).includes(value)),
  )
}

test('an agent that runs pcc secrets is refused, and nothing is written', async t => {
  const env = { ...bareEnv('/nowhere'), PCC_HOME: '/nowhere/pcc', PCC_SESSION_MARK: 'of an agent' }
  for (const args of [['set', 'a'], ['remove', 'a', '--yes'], ['list', '--check'], ['unlock']]) {
    const child = spawn(process.execPath, [BIN, 'secrets', ...args], { env, stdio: 'pipe' })
    child.stdin.end('value of a secret')
    const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')])
    assert.match(stderr, /session/, args.join(' '))
    assert.notEqual(child.exitCode, 0)
  }
  t.diagnostic('by its own words; the daemon knows it by its process as well')
})
