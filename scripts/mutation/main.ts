import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT, tool } from '../places.ts'
import { Workbench } from './decide.ts'
import { asMarkdown, reportOn } from './report.ts'
import { diffOf, type Mutant, mutantsOf, PARTS, sampleMutants } from './sample.ts'

// npm run mutation -- policy            every mutant of src/policy, by Stryker
// npm run mutation -- [options]         a sample of the other parts' mutants
//   --parts store,tasks  --count 200  --seed 17  --workers 2
//   --minutes 30                        starts no mutant after that; the next run continues
//   --only "store/outbox.ts:31:9 …"     one mutant: its diff, and the tests
//   --report                            runs nothing; prints the results and writes bench/mutation.json

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    parts: { type: 'string', default: PARTS.join(',') },
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: '17' },
    minutes: { type: 'string', default: '600' },
    workers: { type: 'string', default: '2' },
    only: { type: 'string' },
    report: { type: 'boolean', default: false },
  },
})
const INTERRUPTED = 130
const REPORT = join(ROOT, 'bench/mutation.json')
const print = (text: string) => process.stdout.write(`${text}\n`)

if (positionals[0] === 'policy') {
  process.exitCode =
    spawnSync(tool('stryker'), ['run', ...positionals.slice(1)], { cwd: ROOT, stdio: 'inherit' }).status ?? 1
} else {
  const interrupt = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort())
  using bench = new Workbench(ROOT, interrupt.signal)
  try {
    await (values.only ? tryOne(bench, values.only) : trySample(bench))
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    print('Interrupted. What is decided is kept; the next run goes on.')
    process.exitCode = INTERRUPTED
  }
}

async function tryOne(bench: Workbench, id: string): Promise<void> {
  const mutant = mutantsOf(ROOT, id.split('/')[0] ?? '').find(one => one.id === id)
  if (!mutant) {
    print(`There is no mutant "${id}". A name is place and kind, as the report prints it.`)
    process.exitCode = 2
    return
  }
  print(diffOf(mutant))
  for (const stage of ['unit', 'program'] as const) print(told(mutant, await bench.decide(mutant, stage)))
}

async function trySample(bench: Workbench): Promise<void> {
  const { seed } = values
  const mutants = sampleMutants(ROOT, { parts: values.parts.split(','), count: Number(values.count), seed })
  const deadline = Date.now() + Number(values.minutes) * 60_000
  for (const stage of values.report ? [] : (['unit', 'program'] as const)) {
    const queue = [...mutants]
    const work = async () => {
      for (let mutant = queue.shift(); mutant && Date.now() < deadline; mutant = queue.shift())
        print(told(mutant, await bench.decide(mutant, stage)))
    }
    await Promise.all(Array.from({ length: Number(values.workers) }, work))
  }
  const report = reportOn(mutants, bench.results, { seed, file: REPORT })
  if (values.report) writeFileSync(REPORT, `${JSON.stringify(report, undefined, 2)}\n`)
  print(`\n${asMarkdown(report, bench.red())}`)
}

function told(mutant: Mutant, { outcome, by, passed }: Awaited<ReturnType<Workbench['decide']>>): string {
  const seen = by ? `${by.file}: ${by.title}` : `${Object.keys(passed).length} test files are green`
  return `${outcome.padEnd(8)} ${mutant.id} (${seen})`
}
