import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type CorpusRow, inputOf, judgeRows } from '../../scripts/corpus/report.ts'
import { ROOT } from '../program.ts'
import type { BenchRow } from '../row.ts'
import { labelledRows } from './rows.ts'

/** What the peer stops, and how long the commands took in milliseconds. */
interface Outcome {
  stopped: Set<string>
  times: number[]
}

/** The tools that the peer's hook knows. */
const FILE_TOOLS = ['Read', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit', 'Glob', 'Grep']
/** The hook is one process per request, so larger sets are sampled down to this number. */
const MAX_HOOKS = 100
/** What the peer is made for, by its own description. */
const ITS_FIELD = ['danger.rm', 'danger.rm-like', 'git.force']

/**
 * Compares our classifier with cc-safety-net on the same labelled requests. The two differ: the peer is a hook that denies
 * what it knows to destroy work or open secrets and lets everything else pass; ours has three levels, and unknown requests go
 * to a person. So the peer does not try to stop most of what is HIGH here (`sudo`, a download piped to a shell, publishing).
 * Its strictest preset is listed beside its standard one.
 */
export async function benchPolicyPeer(): Promise<BenchRow[]> {
  const measured: BenchRow[] = []
  for (const { name, rows } of labelledRows()) {
    const asked = thinned(rows.filter(row => row.symlinks === undefined && isAsked(row)))
    const all = {
      ours: await judgedByUs(asked),
      peer: judgedByPeer(asked, 'standard'),
      strictest: judgedByPeer(asked, 'paranoid'),
    }
    const high = asked.filter(row => row.min === 'HIGH')
    const field = high.filter(row => ITS_FIELD.includes(row.cat))
    const everyday = asked.filter(row => row.cat.startsWith('safe.'))
    const pass = (group: CorpusRow[]) => counts(all, one => group.filter(row => !one.stopped.has(row.id)).length)
    const stop = (group: CorpusRow[]) => counts(all, one => group.filter(row => one.stopped.has(row.id)).length)
    measured.push(
      compared(`${name}: of ${high.length} HIGH requests pass unasked, against cc-safety-net`, pass(high)),
      compared(`${name}: the same, of ${field.length} in its own field (rm, find -delete, forced git)`, pass(field)),
      compared(`${name}: of ${everyday.length} everyday requests are stopped`, stop(everyday)),
      timed(`${name}: verdict on a command in process, median`, median(all.ours.times), median(all.peer.times)),
    )
  }
  return measured
}

function isAsked(row: CorpusRow): boolean {
  return row.command !== undefined ? row.tool === 'Bash' && row.command.trim() !== '' : FILE_TOOLS.includes(row.tool)
}

/** All commands, and as many of the other rows as time allows. */
function thinned(rows: CorpusRow[]): CorpusRow[] {
  const files = rows.filter(row => row.command === undefined)
  const step = Math.ceil(files.length / MAX_HOOKS)
  const kept = new Set(files.filter((_, place) => place % step === 0))
  return rows.filter(row => row.command !== undefined || kept.has(row))
}

async function judgedByUs(rows: CorpusRow[]): Promise<Outcome> {
  const stopped = new Set<string>()
  const times: number[] = []
  for (const row of rows) {
    const started = performance.now()
    const [judged] = await judgeRows([row])
    if (row.command !== undefined) times.push(performance.now() - started)
    if (judged?.escalates) stopped.add(row.id)
  }
  return { stopped, times }
}

/** Not in the temporary folder, because the peer considers deletions there harmless. */
function judgedByPeer(rows: CorpusRow[], level: 'standard' | 'paranoid'): Outcome {
  const folder = mkdtempSync(join(ROOT, '.bench-'))
  try {
    const paths = { cwd: join(folder, 'proj'), home: join(folder, 'home'), level }
    for (const place of [paths.cwd, paths.home]) mkdirSync(place)
    const commands = rows.filter(row => row.command !== undefined)
    const answers = peerCommands(
      commands.map(row => moved(row.command, paths)),
      paths,
    )
    const denied = commands.filter((_, place) => answers[place]?.denied)
    const refused = rows.filter(row => row.command === undefined && peerHookDenies(row, paths))
    return { stopped: new Set([...denied, ...refused].map(row => row.id)), times: answers.map(answer => answer.ms) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Places {
  cwd: string
  home: string
  level: string
}

/** The rows use `/proj` and `/home/u`, and the peer checks the disk. */
function moved<Value>(value: Value, { cwd, home }: Places): Value {
  const text = JSON.stringify(value)
    .replaceAll(/\/proj(?![a-z])/g, cwd)
    .replaceAll('/home/u', home)
  return JSON.parse(text) as Value
}

function peerCommands(commands: unknown[], paths: Places): { denied: boolean; ms: number }[] {
  const child = join(ROOT, 'bench/policy/peer-child.ts')
  const input = commands.map(command => `${JSON.stringify(command)}\n`).join('')
  const { stdout } = spawnSync(process.execPath, [child], { ...optionsFor(paths), input })
  const answers = stdout.split('\n').filter(line => line !== '')
  if (answers.length !== commands.length)
    throw new Error(`cc-safety-net answered ${answers.length} of ${commands.length} times`)
  return answers.map(line => JSON.parse(line))
}

function peerHookDenies(row: CorpusRow, paths: Places): boolean {
  const call = { tool_name: row.tool, tool_input: moved(inputOf(row), paths) }
  const input = JSON.stringify({ session_id: 'bench', cwd: paths.cwd, hook_event_name: 'PreToolUse', ...call })
  const hook = join(ROOT, 'node_modules/cc-safety-net/dist/bin/cc-safety-net.js')
  const { stdout } = spawnSync(process.execPath, [hook, 'hook', '--coding-cli'], { ...optionsFor(paths), input })
  return stdout.includes('"permissionDecision":"deny"')
}

/** Uses its own settings and nothing from this machine. */
function optionsFor({ cwd, home, level }: Places) {
  const env = { HOME: home, PATH: '/usr/bin:/bin', CC_SAFETY_NET_LEVEL: level }
  return { cwd, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const
}

interface All<Value> {
  ours: Value
  peer: Value
  strictest: Value
}

function counts({ ours, peer, strictest }: All<Outcome>, count: (one: Outcome) => number): All<number> {
  return { ours: count(ours), peer: count(peer), strictest: count(strictest) }
}

function compared(what: string, { ours, peer, strictest }: All<number>): BenchRow {
  const measured = `${ours} (cc-safety-net ${peer}; paranoid ${strictest})`
  return { what, measured, budget: 'no more than it', ok: ours <= Math.min(peer, strictest) }
}

function timed(what: string, ours: number, peer: number): BenchRow {
  const micro = (ms: number) => `${(ms * 1000).toFixed(0)} µs`
  const measured = `${micro(ours)} (cc-safety-net ${micro(peer)})`
  return { what, measured, ratio: ours / peer, budget: '≤ 1×', ok: ours <= peer }
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

if (import.meta.main) console.table(await benchPolicyPeer())
