import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quoteForShell } from '../../../src/base/words.ts'
import type { HookAnswer, HookVendor } from '../../../src/domain/hooks.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { makeRepository } from '../../support/world.ts'
import type { Heard } from './probe.ts'
import { PROGRAMS } from './programs.ts'

/** One run of a real program, as a person starts it, with a hook at every event and a scripted model. */
export interface Play {
  vendor: HookVendor
  /** The turns of the model, as in a scenario. `{{marker}}` is a file that exists if the call ran. */
  turns: unknown[]
  /** Conversations besides, as in a scenario. */
  others?: unknown[]
  /** What the hook says at an event, the first time; it is silent after that. */
  says: Record<string, Partial<HookAnswer>>
  args?: string[]
  /** The exit code with which the program ends, if not 0. */
  exit?: number
}

export interface Played {
  /** What each hook got and said, in order. */
  heard: Heard[]
  /** Whether the call that writes the marker ran. */
  ran: boolean
  /** Everything that the model was sent. */
  told: string
  /** The folder of the run, which is gone by now. */
  root: string
}

const PROBE = fileURLToPath(new URL('./probe.ts', import.meta.url))
const DEADLINE_MS = 120_000

export async function play({ vendor, turns, others = [], says, args = [], exit = 0 }: Play): Promise<Played> {
  const root = mkdtempSync(join(tmpdir(), 'pcc-hooks-'))
  const at = (name: string) => join(root, name)
  try {
    for (const name of ['home', 'proj', 'heard']) mkdirSync(at(name))
    writeFileSync(at('proj/README.md'), '# sample\n')
    makeRepository(at('proj'))
    writeFileSync(at('heard/says.json'), JSON.stringify(says))
    await using model = await openSimulator({
      text: scenarioOf([...others, { turns, otherwise: { text: 'Nothing more.' } }], at('proj/marker')),
    })
    const hook = (native: string) => [process.execPath, PROBE, at('heard'), vendor, native].map(quoteForShell).join(' ')
    const start = PROGRAMS[vendor].start({ home: at('home'), url: model.url, prompt: 'go', hook })
    await run(start.command, [...start.args, ...args], { cwd: at('proj'), env: start.env, exit })
    const names = readdirSync(at('heard')).filter(name => name !== 'says.json')
    return {
      heard: names.toSorted().map(name => JSON.parse(readFileSync(join(at('heard'), name), 'utf8')) as Heard),
      ran: existsSync(at('proj/marker')),
      told: JSON.stringify(model.requests.map(({ body }) => body)),
      root,
    }
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
}

function scenarioOf(conversations: unknown[], marker: string): string {
  return JSON.stringify({ conversations }).replaceAll('{{marker}}', marker)
}

interface RunOptions {
  cwd: string
  env: Record<string, string>
  exit: number
}

async function run(command: string, args: string[], { exit: expected, ...options }: RunOptions) {
  const signal = AbortSignal.timeout(DEADLINE_MS)
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'], signal })
  let stderr = ''
  child.stderr.on('data', chunk => {
    stderr += String(chunk)
  })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.once('error', reject)
  child.once('close', resolve)
  const exit = await promise
  if (exit !== expected) throw new Error(`${command} ended with ${exit}: ${stderr.slice(-2000)}`)
}
