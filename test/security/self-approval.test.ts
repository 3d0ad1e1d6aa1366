import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type AppPaths, appPathsFor } from '../../src/base/app-paths.ts'
import { secretId } from '../../src/base/ids.ts'
import { openForkServer } from '../../src/base/process/fork-server.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import type { Isolation } from '../../src/base/process/isolation.ts'
import { sessionMarker } from '../../src/base/process/marker.ts'
import { openSpeakerCheck } from '../../src/daemon/speakers.ts'
import type { RefusedSpeaker } from '../../src/domain/api.ts'
import { commandMarkers } from '../../src/workspace/command/run-command.ts'
import { agentSessions, bodiesOf, isEnd } from '../daemon/agent-sessions.ts'
import { type DaemonProcess, startDaemon, viewWhen } from '../daemon/daemon-process.ts'
import { sharedDaemon } from '../daemon/shared-daemon.ts'
import { tempDir } from '../support/world.ts'

const shared = sharedDaemon()

/** What an agent could write: it reads the token of the daemon and approves the first decision. Prints status and reply. */
const APPROVE = `
const { request } = require('node:http')
const { readFileSync } = require('node:fs')
const [socketPath, tokenFile] = process.argv.slice(-2)
const headers = { host: 'pcc', authorization: 'Bearer ' + readFileSync(tokenFile, 'utf8').trim(), 'content-type': 'application/json' }
const asked = request({ socketPath, path: '/escalations/1/answer', method: 'POST', headers }, reply => {
  process.stdout.write(reply.statusCode + ' ')
  reply.pipe(process.stdout)
})
asked.on('error', error => process.stdout.write(String(error)))
asked.end(JSON.stringify({ verdict: 'allow', by: 'you' }))
`

/** Whether this user can raise limits again: only root can, and not in every container. */
function mayRaiseLimits(): boolean {
  const rights = /^CapEff:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
  return (BigInt(`0x${rights}`) & (1n << 24n)) !== 0n
}

/** Runs the script as a shell line says, as a command of the project would. */
async function speak(
  t: TestContext,
  { paths }: DaemonProcess,
  line: string,
  isolation: Isolation,
  script = APPROVE,
): Promise<string> {
  const [marker, node] = [sessionMarker(secretId(16)), process.execPath]
  const args = ['-c', line, node, script, paths.socket, paths.tokenFile]
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin' }
  const markers = commandMarkers(paths.run)
  markers.note(marker.value)
  const child = openGuard().spawn({ command: '/bin/bash', args, env, marker }, isolation)
  t.after(() => child.end())
  const said = await text(child.stdout)
  await child.end()
  markers.forget(marker.value)
  return said
}

const PLAIN = '"$0" -e "$1" "$2" "$3"'
/** Drops the environment, the brand, the terminal and the parents that it was started with. */
const DISGUISED = `ulimit -S -x unlimited; (env -i setsid --fork --wait "$0" -e "$1" "$2" "$3" & wait)`
/** The same, but it is nobody's child any more. Its starter stays for a while, because it is swept with it. */
const ORPHANED = 'ulimit -S -x unlimited; env -i setsid --fork "$0" -e "$1" "$2" "$3"; sleep 5'

test('no process that an agent started speaks for a person, whatever it drops of its marks', async t => {
  const daemon = await shared()
  for (const isolation of ['auto', 'marker'] as const) {
    assert.match(await speak(t, daemon, PLAIN, isolation), /^403 .*speaker_refused/, isolation)
    const withoutVariables = 'env -i "$0" -e "$1" "$2" "$3"'
    assert.match(await speak(t, daemon, withoutVariables, isolation), /^403 .*speaker_refused/, 'the brand is left')
    const withoutBrand = 'ulimit -S -x unlimited; exec "$0" -e "$1" "$2" "$3"'
    assert.match(await speak(t, daemon, withoutBrand, isolation), /^403 .*speaker_refused/, 'the variable is left')
  }
  if (openGuard().level('auto') === 'namespace')
    assert.match(await speak(t, daemon, DISGUISED, 'auto'), /^403 .*speaker_refused/, 'its parents are left')
  if (!mayRaiseLimits())
    assert.match(await speak(t, daemon, ORPHANED, 'marker'), /^403 .*speaker_refused/, 'the lowered limit is left')
})

test('no process that an agent started unlocks, checks or changes secrets', async t => {
  const daemon = await shared()
  for (const route of ['/secrets/forget', '/secrets/unlock', '/secrets/check']) {
    const script = APPROVE.replace('/escalations/1/answer', route)
    assert.match(await speak(t, daemon, PLAIN, 'auto', script), /^403 .*speaker_refused/, route)
  }
})

test('what the daemon starts for itself speaks for nobody, whatever it drops', async () => {
  const daemon = await shared()
  using forks = openForkServer()
  for (const line of mayRaiseLimits() ? [PLAIN] : [PLAIN, ORPHANED]) {
    const args = ['-c', line, process.execPath, APPROVE, daemon.paths.socket, daemon.paths.tokenFile]
    const limits = { timeoutMs: 60_000, maxBytes: 100_000 }
    const said = await forks.run({ command: '/bin/bash', args, cwd: '/', env: { PATH: '/usr/bin:/bin' }, ...limits })
    assert.match(said.stdout, /^403 .*speaker_refused/, line)
  }
})

test('the name of a connection, which may look like a list of connections, deceives nobody', async t => {
  const daemon = await shared()
  const script = fileURLToPath(new URL('named-connection.pl', import.meta.url))
  assert.match(await speak(t, daemon, `perl '${script}' "$2" "$3"`, 'marker'), /^HTTP\/1.1 403 /)
})

test('an agent that attaches to a session is no person who is there', async t => {
  const daemon = await shared()
  const attach = APPROVE.replace('/escalations/1/answer', '/events?attach=1')
    .replace("'POST'", "'GET'")
    .replace(/asked.end.*/, 'asked.end()')
  assert.match(await speak(t, daemon, PLAIN, 'marker', attach), /^403 .*speaker_refused/)
})

test('who tries again and again is listed for the person, with one event for a minute', async t => {
  const daemon = await startDaemon(t)
  for (let time = 0; time < 4; time++) await speak(t, daemon, PLAIN, 'marker')
  const { body } = await daemon.call('GET', '/escalations')
  assert.deepEqual(
    body.refused_speakers.map(({ session_id, what, count }: RefusedSpeaker) => [session_id, what, count]),
    [[null, 'POST /escalations/:number/answer', 1]],
  )
})

test('a request whose sender is gone before it is looked at is refused', async t => {
  const path = join(tempDir(t), 's')
  const server = createServer().listen(path)
  t.after(() => server.close())
  await once(server, 'listening')
  const script = 'require("node:net").connect(process.argv[1]).write("x")'
  const child = spawn(process.execPath, ['-e', script, path], { env: {}, stdio: 'ignore' })
  const [socket] = (await once(server, 'connection')) as [Socket]
  t.after(() => socket.destroy())
  child.kill('SIGKILL')
  await once(child, 'exit')
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  const { refuseAgents } = openSpeakerCheck({ paths, agentEnv: {} } as Parameters<typeof openSpeakerCheck>[0])
  const request = { raw: { socket }, method: 'POST', url: '/tasks', routeOptions: { url: '/tasks' } }
  await assert.rejects(refuseAgents(request as never), { code: 'speaker_gone' })
})

/** The script as an agent writes it: it knows where the daemon is. */
const approveIn = ({ socket, tokenFile }: AppPaths) =>
  APPROVE.replace('process.argv.slice(-2)', JSON.stringify([socket, tokenFile]))

const scenario = (paths: AppPaths) => `
conversations:
  - match: Remove the documents
    turns:
      - tools: [{ Bash: { command: rm -rf ../documents, description: remove } }]
      - text: Removed.
  - match: Approve it yourself
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/src/approve.js", content: ${JSON.stringify(approveIn(paths))} } }]
      - tools: [{ Bash: { command: node src/approve.js, description: run it } }]
      - text: "It said: {{last_tool_result}}"
`

/** An agent that writes the script and runs it while another session asks; its events, and the state of the decision. */
async function attack(t: TestContext, sandbox: 'auto' | 'off') {
  const home = tempDir(t)
  const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
  const env = { PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait', PCC_AGENTS_SANDBOX: sandbox }
  const { daemon, start, log } = await agentSessions(t, scenario(paths), { home, env })
  const asking = await start('Remove the documents')
  await viewWhen(daemon, asking.id, ({ status }) => status === 'waiting_input')
  const attacker = await start('Approve it yourself')
  const stream = await daemon.stream(`/events?session=${attacker.id}`)
  await stream.until(isEnd)
  stream.close()
  assert.equal((await daemon.call('GET', '/escalations/1')).body.state, 'open')
  return log(attacker.id)
}

test('an agent that writes a script and runs it does not approve what another session asks', async t => {
  const events = await attack(t, 'off')
  assert.match(bodiesOf(events, 'task.finished')[0]?.result ?? '', /403 .*speaker_refused/, JSON.stringify(events))
  const notes = bodiesOf(events, 'speaker.refused').map(({ what }) => what)
  assert.ok(
    notes.some(note => note.startsWith('POST /escalations')),
    notes.join('\n'),
  )
})

test('in its sandbox an agent does not even find the token of the daemon', async t => {
  const events = await attack(t, 'auto')
  assert.match(bodiesOf(events, 'task.finished')[0]?.result ?? '', /ENOENT: no such file.*run\/token/s)
})
