import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { brandOf, OBSERVED_MARKER, sessionMarker } from '../../src/base/process/marker.ts'
import type { Peer, PeerProcess } from '../../src/base/process/peer.ts'
import { rawStartTime } from '../../src/base/process/process-table.ts'
import { openDaemonHooks } from '../../src/daemon/daemon-hooks.ts'
import { handleHook } from '../../src/daemon/routes/hooks.ts'
import { newRecord, PATTERN_TYPE } from '../../src/domain/memory.ts'
import { observedId } from '../../src/supervisor/hooks/capture.ts'
import { openProjectMemory } from '../../src/supervisor/memory/project-memory.ts'
import { scriptedAgent } from '../supervisor/session/scripted-agent.ts'
import { scriptedWorld } from '../supervisor/session/scripted-world.ts'
import { gitProject } from '../support/world.ts'

const HIGH = 'git push --force origin main'

function eventIn(cwd: string) {
  return {
    ...{ session_id: 'c-1', transcript_path: '', cwd, hook_event_name: 'PreToolUse', permission_mode: 'default' },
    ...{ tool_name: 'Bash', tool_use_id: 'u-1', tool_input: { command: HIGH } },
  }
}

/** Has a process with this variable ask over loopback, whether it may make the call or something else, as Claude Code does with --http. */
async function askOverLoopback(
  t: TestContext,
  daemon: Parameters<typeof handleHook>[0],
  mark: string | undefined,
  more = {},
) {
  const body = { ...eventIn(gitProject(t)), ...more }
  const answered = Promise.withResolvers<string>()
  const server = createServer((request, response) => {
    const signal = AbortSignal.timeout(20_000)
    handleHook(daemon, { native: body.hook_event_name, body, socket: request.socket, signal })
      .then(({ stdout }) => answered.resolve(stdout), answered.reject)
      .finally(() => response.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const code = `fetch(${JSON.stringify(url)}).then(reply => reply.text()); setInterval(() => {}, 60_000)`
  const env = mark === undefined ? {} : { PCC_SESSION_MARK: mark }
  const asking = spawn(process.execPath, ['-e', code], { env, stdio: 'ignore' })
  t.after(() => {
    asking.kill('SIGKILL')
    server.close()
  })
  return answered.promise
}

test('over loopback too a hook says nothing inside a session that is at work here, and judges everybody else, whatever their variables say', async t => {
  const agent = scriptedAgent()
  const { daemon, supervisor, store, start, when } = await scriptedWorld(t, agent)
  const held = agent.holdAt('tool')
  const id = await start('work')
  const goOn = await held
  const marker = (await store.sessions.get(id))?.marker ?? assert.fail('it has a marker')
  assert.ok(supervisor.liveMarkers().includes(marker))
  // The process of a conversation is remembered, but whoever names the conversation is not taken for it.
  assert.match(await askOverLoopback(t, daemon, undefined), /"deny"/)
  assert.equal(await askOverLoopback(t, daemon, marker), '')
  // A script of an agent that names the same conversation, and goes on running, changes nothing.
  const agents = join(daemon.paths.run, 'vendor-processes')
  mkdirSync(agents, { recursive: true })
  writeFileSync(join(agents, `${process.pid}-${rawStartTime(process.pid)}`), '')
  assert.match(await askOverLoopback(t, daemon, undefined), /"deny"/)
  assert.equal(await askOverLoopback(t, daemon, marker), '')
  assert.match(await askOverLoopback(t, daemon, 'made up'), /"deny"/)
  assert.match(await askOverLoopback(t, daemon, undefined), /"deny"/)
  const caller = { id: 'claimed-mark', ppid: 0, folder: '/', env: { PCC_SESSION_MARK: marker } }
  const claim = { vendor: 'claude', native: 'PreToolUse', stdin: eventIn(gitProject(t)), caller } as const
  const claimed = openDaemonHooks(daemon).answer({ ...claim, signal: AbortSignal.timeout(20_000) }, async () => [])
  assert.match((await claimed).stdout, /"deny"/, 'a claim is no proof')
  goOn()
  await when(id, ({ status }) => status === 'completed')
  assert.match(await askOverLoopback(t, daemon, marker), /"deny"/, 'a session that is over silences nothing')
})

test('inside what pcc started itself no model is asked about a call, and no agent judges at a stop', async t => {
  const { daemon } = await scriptedWorld(t, scriptedAgent())
  const project = gitProject(t)
  writeFileSync(daemon.paths.configFile, '[gates]\nverifier = "on"\n')
  let asked = 0
  const brainsFor = async () => {
    asked++
    return []
  }
  const hooks = openDaemonHooks({ ...daemon, brainsFor })
  const ask = async (native: string, more: object, ours: boolean) => {
    const caller = { id: `${native}-${ours}`, ppid: 0, folder: project, env: {} }
    const stdin = { session_id: 'c-1', cwd: project, hook_event_name: native, ...more }
    const peer = { kind: 'process', pid: 0, command: '', lowered: false, ours, chain: [] } as const
    const peers = async () => [{ ...peer, values: new Set<string>(), brands: new Set<string>() }]
    const signal = AbortSignal.timeout(20_000)
    return (await hooks.answer({ vendor: 'claude', native, stdin, caller, signal }, peers)).stdout
  }
  const call = { tool_name: 'Bash', tool_input: { command: 'frobnicate --all' } }
  const claim = { last_assistant_message: 'TASK COMPLETE' }
  assert.deepEqual([await ask('PermissionRequest', call, true), asked], ['', 0])
  assert.equal(await ask('Stop', claim, true), '')
  assert.deepEqual([await ask('PermissionRequest', call, false), asked], ['', 1])
  assert.match(await ask('Stop', claim, false), /verifier/)
})

test('whatever may be ours is judged over loopback too, and hears and reports nothing of any project, whatever mark it chooses', async t => {
  const { daemon, store } = await scriptedWorld(t, scriptedAgent())
  const project = gitProject(t)
  const hooks = openDaemonHooks(daemon)
  let asked = 0
  const ask = async (native: string, more: object, other: Partial<PeerProcess> | Peer) => {
    const clean = { kind: 'process', pid: 0, command: '', lowered: false, ours: false, chain: [] } as const
    const peer = { ...clean, values: new Set<string>(), brands: new Set<string>(), ...other } as Peer
    const [mark] = peer.kind === 'process' ? peer.values : []
    asked++
    const caller = { id: `asked-${asked}`, ppid: 0, folder: '/', env: { PCC_SESSION_MARK: mark } }
    const stdin = { session_id: `c-${asked}`, cwd: project, hook_event_name: native, ...more }
    const signal = AbortSignal.timeout(20_000)
    return (await hooks.answer({ vendor: 'claude', native, stdin, caller, signal }, async () => [peer])).stdout
  }
  const captured = async () => (await store.events({ kinds: ['hook.captured'] })).length
  const isCaptured = async (other: Partial<PeerProcess> | Peer) => {
    const before = await captured()
    await ask('UserPromptSubmit', { prompt: 'What is here?' }, other)
    return (await captured()) > before
  }
  const observed = { lowered: true, brands: new Set([brandOf(OBSERVED_MARKER)]), chain: [process.pid] }
  const marked: Record<string, Partial<PeerProcess> | Peer> = {
    'a made up mark': { values: new Set(['made up']) },
    'a made up mark, and above it that of a gate which a command runs': {
      ...{ values: new Set(['made up', 'of-a-gate']), brands: new Set([brandOf(sessionMarker('of-a-gate'))]) },
      lowered: true,
    },
    'the mark of a gate which a command runs': { values: new Set(['of-a-gate']), lowered: true },
    'only the brand of a gate': { brands: new Set([brandOf(sessionMarker('of-a-gate'))]) },
    'a dropped brand': { lowered: true },
    'started by us': { ours: true },
    'the brand of an agent of the person, without such an agent': observed,
    'gone before it was looked at': { kind: 'gone' },
    'brought by the daemon itself': { kind: 'own' },
  }
  const call = { tool_name: 'Bash', tool_use_id: 'u-1', tool_input: { command: HIGH } }
  for (const [name, peer] of Object.entries(marked)) {
    assert.equal(await isCaptured(peer), false, name)
    assert.match(await ask('PreToolUse', call, peer), /"deny"/, name)
  }
  assert.equal(await isCaptured({}), true, 'no mark')
  assert.equal(await isCaptured({ kind: 'unknown', why: 'no list' }), true, 'where the system does not tell')

  const agents = join(daemon.paths.run, 'vendor-processes')
  mkdirSync(agents, { recursive: true })
  const known = join(agents, `${process.pid}-${rawStartTime(process.pid)}`)
  writeFileSync(known, '')
  assert.equal(await isCaptured(observed), true, 'an agent of the person after its first hook')
  assert.equal(await isCaptured({ ...observed, values: new Set(['of-a-gate']) }), false, 'a gate that it runs')
  renameSync(known, `${known}-doubted`)
  assert.equal(await isCaptured(observed), false, 'what was marked before its first hook')
})

test('a process with a made up mark is told nothing over loopback, also after a call of it was judged', async t => {
  const { daemon, store } = await scriptedWorld(t, scriptedAgent())
  assert.match(await askOverLoopback(t, daemon, 'made up'), /"deny"/)
  const [doubted] = readdirSync(join(daemon.paths.run, 'vendor-processes'))
  assert.match(doubted ?? '', /-doubted$/)
  const before = (await store.events({ kinds: ['hook.captured'] })).length
  const prompt = { hook_event_name: 'UserPromptSubmit', prompt: 'What is here?' }
  assert.equal(await askOverLoopback(t, daemon, 'made up', prompt), '')
  assert.equal((await store.events({ kinds: ['hook.captured'] })).length, before)
})

test('a conversation with a role gets what that role may read, which is recorded with the role, as is what it does', async t => {
  const { daemon, store } = await scriptedWorld(t, scriptedAgent(), { PCC_MEMORY_ENABLED: 'true' })
  const project = gitProject(t)
  using memory = openProjectMemory(daemon.paths)
  const [of] = await memory.keysOf(project)
  const rule = { kind: 'glob', text: '*release*' } as const
  memory.write([
    newRecord({
      ...{ kind: 'procedure', time: Date.now(), scope: 'project', of, actor: 'person', authority: 'person' },
      ...{ event_type: PATTERN_TYPE, trigger: rule, action: 'Ask Ann before a release.' },
      acl: { roles: ['conductor'], shared_at: null },
    }),
  ])
  memory.broker.catchUp()
  const hooks = openDaemonHooks(daemon)
  const ask = async (session_id: string, role: string) => {
    const caller = { id: `h-${session_id}`, ppid: 0, folder: project, env: { AGENT_ROLE: role } }
    const stdin = { session_id, cwd: project, hook_event_name: 'UserPromptSubmit', prompt: 'Make the release' }
    const signal = AbortSignal.timeout(20_000)
    await hooks.answer({ vendor: 'claude', native: 'UserPromptSubmit', stdin, caller, signal }, async () => [])
  }
  await ask('c-1', 'musician')
  await ask('c-2', 'Conductor')
  const reader = { agent: 'person', role: null, session: null, projects: [], now: 0 }
  // On a slow machine the prompt is not kept waiting, and the rest comes after it.
  for (let left = 3_000; left > 0 && memory.broker.records('recall', reader).length === 0; left -= 1) await sleep(20)
  const shown = memory.broker.records('recall', reader)
  const own = observedId({ vendor: 'claude', session: 'c-2' })
  assert.deepEqual(
    shown.map(({ role, session, arm, items }) => [role, session, arm, items.length]),
    [['conductor', own, 'with', 1]],
  )
  const [captured] = await store.events({ subject: own, kinds: ['hook.captured'] })
  assert.equal(captured?.kind === 'hook.captured' && captured.body.role, 'conductor')
})
