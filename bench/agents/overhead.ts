import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { acpDriver } from '../../src/agents/acp/driver.ts'
import { commandFor } from '../../src/agents/acp/start-files.ts'
import { geminiManifest } from '../../src/agents/manifests/gemini.ts'
import type { OpenSession } from '../../src/domain/session.ts'
import { openSimulator } from '../../src/simulator/open.ts'
import { GEMINI_MODEL, geminiEnv } from '../../test/agents/programs/gemini.ts'
import { program } from '../../test/agents/programs/programs.ts'
import { median } from '../measure.ts'
import type { BenchRow } from '../row.ts'

const TURNS = 40
const PROMPT = 'make it'

const SCENARIO = JSON.stringify({
  conversations: [
    {
      match: PROMPT,
      turns: [turn()[0], turn()[1]],
      later: [{ match: PROMPT, turns: Array.from({ length: 2 * TURNS }, turn).flat() }],
    },
  ],
})

/** A call that is asked about, and a few words. */
function turn(): [object, object] {
  const call = { run_shell_command: { command: 'touch made' } }
  return [{ tools: [call] }, { text: 'Made.' }]
}

/** A turn through our driver beside the same turn of the same real agent on a bare pipe, every call allowed at once. */
export async function benchAgents(): Promise<BenchRow[]> {
  const gemini = program('gemini')
  const what = 'a turn of Gemini CLI with a call, through the driver, against the bare protocol'
  if (!existsSync(gemini))
    return [{ what, measured: 'not measured: run npm run test:agents once', budget: '≤ 1.05×', ok: false }]
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  const project = join(dir, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'README.md'), '# sample\n')
  await using simulator = await openSimulator({ text: SCENARIO })
  const open: OpenSession = {
    ...{ id: 's-000001', cwd: project, env: geminiEnv(dir, simulator.url), model: GEMINI_MODEL, isolation: 'marker' },
    settingSources: [],
    asks: {
      permission: async () => ({ verdict: 'allow', risk: 'LOW', reason: '', confidence: 1, by: 'bench' }),
      question: async () => ({ declined: 'nobody', by: 'bench' }),
    },
  }
  try {
    // One after the other, turn by turn: a machine that is busy for a while slows both.
    await using bare = await bareAgent(open, gemini)
    await using driven = await drivenAgent(open, gemini)
    const took: { bare: number[]; driven: number[] } = { bare: [], driven: [] }
    for (let at = 0; at <= TURNS; at += 1) {
      const [one, other] = [await timed(bare.turn), await timed(driven.turn)]
      // The first one fills caches.
      if (at > 0) took.bare.push(one)
      if (at > 0) took.driven.push(other)
    }
    const [ours, theirs] = [quickest(took.driven), quickest(took.bare)]
    const ratio = ours / theirs
    const measured = `${ours.toFixed(1)} ms (bare ${theirs.toFixed(1)} ms; the quicker half of ${TURNS} turns each)`
    return [{ what, measured, ratio, budget: '≤ 1.05×', ok: ratio <= 1.05 }]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The middle of the quicker half: what else the machine does only makes turns slower. */
function quickest(times: readonly number[]): number {
  return median(times.toSorted((a, b) => a - b).slice(0, Math.ceil(times.length / 2)))
}

interface Agent extends AsyncDisposable {
  /** One prompt to the end of its turn. */
  turn(): Promise<void>
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

async function drivenAgent(open: OpenSession, executable: string): Promise<Agent> {
  const session = await acpDriver(geminiManifest, { executable }).open(open)
  const until = async (wanted: string) => {
    for await (const { kind } of session.events) {
      if (kind === wanted) return
      if (kind === 'ended') throw new Error('the agent ended by itself')
    }
  }
  await until('started')
  return {
    async turn() {
      await session.prompt(PROMPT)
      await until('turn_ended')
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  }
}

/** The same on a bare pipe. */
async function bareAgent(open: OpenSession, executable: string): Promise<Agent> {
  const { command, args, env, dispose } = await commandFor(geminiManifest, open, [executable])
  const child = spawn(command, args, { cwd: open.cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const waiting = new Map<number, (result: Record<string, unknown>) => void>()
  createInterface({ input: child.stdout }).on('line', line => {
    if (!line.startsWith('{')) return
    const { id, method, params, result } = JSON.parse(line)
    if (method === 'session/request_permission') {
      const once = params.options.find(({ kind }: { kind: string }) => kind === 'allow_once')
      send({ id, result: { outcome: { outcome: 'selected', optionId: once.optionId } } })
    } else if (method === undefined) waiting.get(id)?.(result ?? {})
  })
  let last = 0
  const ask = (method: string, params: object) => {
    last += 1
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>()
    waiting.set(last, resolve)
    send({ id: last, method, params })
    return promise
  }
  await ask('initialize', { protocolVersion: 1, clientCapabilities: {} })
  const { sessionId } = await ask('session/new', { cwd: open.cwd, mcpServers: [] })
  return {
    turn: async () => void (await ask('session/prompt', { sessionId, prompt: [{ type: 'text', text: PROMPT }] })),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await dispose()
    },
  }
}
