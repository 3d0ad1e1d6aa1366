import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs, styleText } from 'node:util'
import { ROOT } from './program.ts'
import type { BenchRow } from './row.ts'

// npm run bench [-- --only list,start [--save]]: prints each measurement with its budget. Exceeding a budget is reported but is
// not a failure, because numbers depend on the machine. With --only and --save, the chosen rows are written beside the others.
// --beside-load keeps every core busy meanwhile, and prints that with each row.
// --watch-seconds shortens the five minutes for which parked sessions are watched; the row mentions it.
const { values } = parseArgs({
  options: {
    ...{ only: { type: 'string' }, save: { type: 'boolean' }, 'beside-load': { type: 'boolean' } },
    'watch-seconds': { type: 'string', default: '300' },
  },
})
const RESULTS = join(ROOT, 'bench/results.json')
const watchSeconds = Number(values['watch-seconds'])
if (!(watchSeconds > 0)) {
  process.stderr.write(`--watch-seconds takes a number above zero, not "${values['watch-seconds']}".\n`)
  process.exit(2)
}
const BENCHES: Record<string, () => Promise<BenchRow[]>> = {
  list: async () => (await import('./commands.ts')).benchCommands(),
  start: async () => (await import('./task.ts')).benchTask(),
  daemon: async () => (await import('./idle.ts')).benchIdle(),
  store: async () => (await import('./store.ts')).benchStore(),
  tasks: async () => (await import('./tasks/tasks.ts')).benchTasks(),
  api: async () => (await import('./api/api.ts')).benchApi(),
  runs: async () => (await import('./runs/ten-tasks.ts')).benchRuns(),
  prompts: async () => (await import('./runs/prompts.ts')).benchPrompts(),
  year: async () => (await import('./year/year.ts')).benchYear(),
  limits: async () => (await import('./limits/limits.ts')).benchLimits(),
  failover: async () => (await import('./limits/failover.ts')).benchFailover(),
  calls: async () => [
    ...(await (await import('./limits/verdict-cost.ts')).benchVerdictCost()),
    ...(await (await import('./limits/call-cost.ts')).benchCallCost()),
  ],
  agents: async () => (await import('./agents/overhead.ts')).benchAgents(),
  policy: async () => (await import('./policy/policy.ts')).benchPolicy(),
  hooks: async () => (await import('./hooks/hooks.ts')).benchHooks(),
  sandbox: async () => (await import('./sandbox.ts')).benchSandbox(),
  workspace: async () => (await import('./workspace/worktrees.ts')).benchWorktrees(),
  verify: async () => (await import('./workspace/verify.ts')).benchVerify(),
  merges: async () => (await import('./workspace/merges.ts')).benchMerges(),
  'in-worktrees': async () => (await import('./workspace/ten-in-worktrees.ts')).benchTenInWorktrees(),
  'large-worktrees': async () => (await import('./workspace/ten-in-worktrees.ts')).benchTenInLargeWorktrees(),
  'eight-at-once': async () => (await import('./workspace/eight-at-once.ts')).benchEightAtOnce(),
  knowledge: async () => (await import('./knowledge/knowledge.ts')).benchKnowledge(),
  memory: async () => [
    ...(await import('./memory/append.ts')).benchAppend(),
    ...(await (await import('./memory/recall.ts')).benchMemory()),
  ],
  metrics: async () => (await import('./metrics.ts')).benchMetrics(),
  reliability: async () => (await import('./reliability/reliability.ts')).benchReliability(watchSeconds * 1000),
}

const chosen = values.only?.split(',') ?? Object.keys(BENCHES)
const unknown = chosen.filter(name => !(name in BENCHES))
if (unknown.length > 0) {
  process.stderr.write(`There is no bench ${unknown.join(', ')}: choose from ${Object.keys(BENCHES).join(', ')}.\n`)
  process.exit(2)
}

const rows: BenchRow[] = []
{
  using _load = values['beside-load'] ? openLoad() : undefined
  for (const name of chosen) {
    process.stderr.write(`measuring ${name} …\n`)
    rows.push(...((await BENCHES[name]?.()) ?? []).map(inItsSurroundings))
  }
}
process.stdout.write(table(rows))
if (!values.only || values.save) {
  const kept = values.only ? rowsBefore().filter(({ what }) => !rows.some(row => row.what === what)) : []
  writeFileSync(RESULTS, `${JSON.stringify(report([...kept, ...rows]), null, 2)}\n`)
}

function inItsSurroundings(row: BenchRow): BenchRow {
  return values['beside-load'] ? { ...row, what: `${row.what}, beside a load on every core` } : row
}

/** As many processes as there are cores, each with one of them to itself if nothing else wants it. They end with this one. */
function openLoad(): Disposable {
  const spin =
    'process.on("disconnect", () => process.exit()); (function spin() { const end = Date.now() + 20; while (Date.now() < end); setImmediate(spin) })()'
  const load = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', spin], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
  )
  return { [Symbol.dispose]: () => load.forEach(each => void each.kill('SIGKILL')) }
}

function rowsBefore(): BenchRow[] {
  return (JSON.parse(readFileSync(RESULTS, 'utf8')) as { rows: BenchRow[] }).rows
}

function report(measured: BenchRow[]): object {
  const machine = {
    cores: availableParallelism(),
    memory_gb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  }
  const rounded = measured.map(row => (row.ratio === undefined ? row : { ...row, ratio: Number(row.ratio.toFixed(2)) }))
  return { date: new Date().toISOString().slice(0, 10), machine, rows: rounded }
}

function table(measured: BenchRow[]): string {
  const cells = measured.map(({ what, measured, ratio, budget, ok }) => [
    what,
    measured,
    ratio === undefined ? '' : `${ratio.toFixed(2)}×`,
    budget,
    ok ? 'ok' : 'over',
  ])
  const lines = [['what', 'measured', 'ratio', 'budget', ''], ...cells]
  const widths = [0, 1, 2, 3, 4].map(column => Math.max(...lines.map(line => line[column]?.length ?? 0)))
  return lines
    .map(line =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map(line => (line.endsWith('over') ? styleText('red', line) : line))
    .map(line => `${line}\n`)
    .join('')
}
