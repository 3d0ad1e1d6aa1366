import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { silentLog } from '../../src/base/log.ts'
import { replayOutbox } from '../../src/daemon/replay-outbox.ts'
import { HOOK_SCHEMA_VERSION } from '../../src/domain/hooks.ts'
import { openStore } from '../../src/store/open.ts'
import { openCaptureQueue } from '../../src/supervisor/hooks/capture.ts'
import { readHookSettings } from '../../src/supervisor/hooks/hook-settings.ts'
import { HookOutbox } from '../../src/supervisor/hooks/outbox.ts'
import { tellContext } from '../../src/supervisor/hooks/prompt-context.ts'
import { agentEnv } from '../../test/support/world.ts'
import { CLAUDE, measureCalls, openCallingModel } from '../call-time.ts'
import { type Installation, openInstallation, ROOT, run } from '../program.ts'
import type { BenchRow } from '../row.ts'
import { capturedRow } from './captured-row.ts'
import type { VendorWork } from './vendor-child.ts'

const CHILD = fileURLToPath(new URL('./vendor-child.ts', import.meta.url))
const PEER = join(ROOT, 'node_modules/cc-safety-net/dist/bin/cc-safety-net.js')
const ROUNDS = 25

/** What the hooks of agents that pcc did not start cost. */
export async function benchHooks(): Promise<BenchRow[]> {
  return [...(await benchVerdicts()), ...(await benchHttp()), ...(await benchContext()), await benchCapture()]
}

/** One everyday call, as npm installs pcc, beside the same call of a peer. */
async function benchVerdicts(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dir, dist, env } = installation
  const project = makeProject(installation)
  const home = join(dir, 'home/.perpetualcc')
  const input = JSON.stringify({
    ...{ session_id: 'c-1', transcript_path: '', cwd: project, hook_event_name: 'PreToolUse' },
    ...{ tool_name: 'Bash', tool_use_id: 'call-1', tool_input: { command: 'ls -la' }, permission_mode: 'default' },
  })
  const hook = { args: [dist, 'hook', 'claude', 'PreToolUse', '--home', home], expect: '"allow"' }
  const commands = { node: { args: ['-e', '0'], expect: '' }, hook }
  const peer = { peer: { args: [PEER, 'hook', '--claude-code'], expect: '' } }
  const measure = async (all: typeof commands) => {
    const stdout = await playVendor({ does: 'race', commands: all, input, rounds: ROUNDS }, { env, cwd: project })
    return JSON.parse(stdout) as Record<keyof typeof commands | 'peer', number>
  }
  const inline = await measure({ ...commands, ...peer })
  await installation.pcc(dist, 'daemon', 'start')
  const asked = await measure(commands)
  const row = (what: string, ms: number, node: number, most?: number): BenchRow => ({
    what: `${what}, against node -e 0`,
    measured: `${ms.toFixed(0)} ms (node -e 0: ${node.toFixed(0)} ms)`,
    ratio: ms / node,
    budget: most === undefined ? '–' : `≤ ${most}×`,
    ok: most === undefined || ms / node <= most,
  })
  return [
    row('pcc hook with the daemon', asked.hook, asked.node, 1.5),
    row('pcc hook without the daemon', inline.hook, inline.node, 2.5),
    row('the same call in cc-safety-net', inline.peer, inline.node),
  ]
}

/** A tool call of the real Claude Code with `--http`, against one without any hooks. */
async function benchHttp(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dir, dist } = installation
  const project = makeProject(installation)
  await using simulator = await openCallingModel()
  const homeOf = (name: string) => {
    mkdirSync(join(dir, name, '.claude'), { recursive: true })
    return { ...installation.env, ...agentEnv(join(dir, name), simulator.url) }
  }
  const homes = { hooked: homeOf('home'), bare: homeOf('bare') }
  const ours = { env: homes.hooked, cwd: project }
  await run(process.execPath, [dist, 'daemon', 'start'], ours)
  await run(process.execPath, [dist, 'hooks', 'install', '--claude', '--http', '--yes'], ours)
  const play = (env: Record<string, string>) => (task: string) =>
    run(CLAUDE, ['-p', task, '--setting-sources', 'user', '--allowed-tools', 'Bash'], { env, cwd: project })
  const { measured, ratio, addedMs } = await measureCalls(play(homes.bare), play(homes.hooked))
  const what = 'what a tool call of Claude Code takes longer with hooks over HTTP, before and after the call'
  return [{ what, measured, ratio, budget: '≤ 15 ms', ok: addedMs <= 15 }]
}

const PROMPTS = 30
const CONTEXT_MS = 150

/** How long a prompt waits at most for its context, when a source of it never answers. */
async function benchContext(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const project = makeProject(installation)
  const paths = appPathsFor({ env: installation.env })
  const never = new Promise<never>(() => {})
  const tell = tellContext({ needs: () => never })
  const caller = { id: 'bench', ppid: 0, folder: project, env: installation.env }
  const place = { paths, env: caller.env, project }
  const settings = () => readHookSettings(place)
  const context = { ...place, caller, log: silentLog, signal: AbortSignal.timeout(60_000), settings }
  let longest = 0
  for (let at = 0; at < PROMPTS; at++) {
    const started = performance.now()
    const base = {
      schema_version: HOOK_SCHEMA_VERSION,
      vendor: 'claude',
      native: 'SessionStart',
      cwd: project,
    } as const
    await tell({ ...base, kind: 'session_start', session: `c-${at}`, source: 'startup' }, context)
    longest = Math.max(longest, performance.now() - started)
  }
  return [
    {
      what: `context of a session when a source of it never answers, the longest of ${PROMPTS}`,
      measured: `${longest.toFixed(0)} ms`,
      budget: `≤ ${CONTEXT_MS} ms`,
      ok: longest <= CONTEXT_MS,
    },
  ]
}

const EVENTS = 100_000
const WRITERS = 2

/** Events from hooks that asked the daemon, and from hooks that wrote them down while it was away, all at the same time. */
async function benchCapture(): Promise<BenchRow> {
  await using installation = await openInstallation()
  const { dir, env } = installation
  const home = join(dir, 'home/.perpetualcc')
  const paths = appPathsFor({ env })
  await using store = await openStore({ file: paths.database })
  const record = openCaptureQueue(rows => store.observed.capture(rows), {
    instead: rows => void new HookOutbox(paths).add(rows),
  })
  const started = performance.now()
  const half = EVENTS / 2
  const share = half / WRITERS
  const writers = Array.from({ length: WRITERS }, (_, at) =>
    playVendor({ does: 'write', home, from: half + at * share, count: share }, { env, cwd: dir }),
  )
  let isWriting = true
  const written = Promise.all(writers).finally(() => {
    isWriting = false
  })
  const replay = () => replayOutbox({ paths, store, log: silentLog, stopping: new AbortController().signal })
  const waiting: Promise<void>[] = []
  for (let at = 0; at < half; at++) {
    waiting.push(record([capturedRow(at)]))
    if (at % 1_000 === 0) await Promise.all([...waiting.splice(0), replay()])
  }
  await Promise.all(waiting)
  while (isWriting) await replay()
  await written
  await replay()
  const seconds = (performance.now() - started) / 1_000
  const ids = new Set<string>()
  for (let after = 0; ; ) {
    const events = await store.events({ kinds: ['hook.captured'], after, limit: 5_000 })
    for (const { body } of events) if ('id' in body && typeof body.id === 'string') ids.add(body.id)
    const last = events.at(-1)
    if (!last) break
    after = last.id
  }
  return {
    what: `captured events of ${EVENTS.toLocaleString('en')}, half through the outbox from ${WRITERS} processes`,
    measured: `${ids.size.toLocaleString('en')} stored in ${seconds.toFixed(1)} s`,
    budget: 'none lost',
    ok: ids.size === EVENTS,
  }
}

async function playVendor(work: VendorWork, at: { env: Record<string, string>; cwd: string }): Promise<string> {
  return (await run(process.execPath, [CHILD, JSON.stringify(work)], at)).stdout
}

function makeProject({ dir }: Installation): string {
  const project = join(dir, 'project')
  mkdirSync(join(project, '.git'), { recursive: true })
  return project
}
