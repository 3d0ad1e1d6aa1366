import { openClassifier } from '../../src/policy/classify/classify.ts'
import { MAX_COMMAND } from '../../src/policy/shell/parse.ts'
import type { BenchRow } from '../row.ts'
import { benchPolicyPeer } from './peer.ts'
import { labelledRows } from './rows.ts'

const ROUNDS = 5
const HOSTILE = ['$[', '$(', '${', '`', '((', '<(', '"$(', '$(( $( ', '{a,', '[[ a =~ (']
/** Commands that are long and may be harmless: they cost the most of those that were found. */
const LONG = [
  `echo $((${'1+'.repeat(6000)}1))`,
  'ls a;'.repeat(1500),
  `ls ${'a*b? '.repeat(2600)}`,
  `sed -i '${'a'.repeat(16_000)}`,
]

/** The rule path of a permission: every command of the corpus up to 1 KiB, the worst case of 16 KiB, and a peer. */
export async function benchPolicy(): Promise<BenchRow[]> {
  using classifier = openClassifier()
  const judge = (command: string) =>
    classifier.classify({ tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' })
  const commands = corpusCommands().filter(command => command.length <= 1024)
  for (const command of commands) await judge(command)
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++)
    for (const command of commands) {
      const start = performance.now()
      await judge(command)
      times.push(performance.now() - start)
    }
  times.sort((one, other) => one - other)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
  const worst = await worstHostile(judge)
  const longest = await slowest(judge, LONG)
  return [
    {
      what: `permission verdict, rule path, ${commands.length} commands up to 1 KiB, median`,
      measured: `${(at(0.5) * 1000).toFixed(0)} µs`,
      budget: '≤ 50 µs',
      ok: at(0.5) <= 0.05,
    },
    {
      what: 'the same, 99th of a hundred',
      measured: `${at(0.99).toFixed(2)} ms`,
      budget: '≤ 1 ms',
      ok: at(0.99) <= 1,
    },
    {
      what: `hostile command of ${MAX_COMMAND / 1024} KiB, the slowest of ${HOSTILE.length} kinds, every one HIGH`,
      measured: `${worst.ms.toFixed(0)} ms`,
      budget: '≤ 100 ms and HIGH',
      ok: worst.ms <= 100 && worst.allHigh,
    },
    {
      what: 'a sum of 6,000 terms, 1,500 joined commands, 2,600 patterns, a word of 16,000 letters: the slowest',
      measured: `${longest.ms.toFixed(0)} ms`,
      budget: '≤ 100 ms',
      ok: longest.ms <= 100,
    },
    ...(await benchPolicyPeer()),
  ]
}

type Judge = (command: string) => ReturnType<ReturnType<typeof openClassifier>['classify']>

function worstHostile(judge: Judge) {
  return slowest(
    judge,
    HOSTILE.map(opener => opener.repeat(Math.floor(MAX_COMMAND / opener.length))),
  )
}

async function slowest(judge: Judge, commands: readonly string[]) {
  await judge(`ls ${'x '.repeat(2000)}`)
  let ms = 0
  let allHigh = true
  for (const command of commands) {
    const start = performance.now()
    const { risk } = await judge(command)
    ms = Math.max(ms, performance.now() - start)
    allHigh &&= risk === 'HIGH'
    // A worker that was ended is restarted here, not during the next measurement.
    await judge(`ls ${'x '.repeat(2000)}`)
  }
  return { ms, allHigh }
}

function corpusCommands(): string[] {
  return (labelledRows()[0]?.rows ?? []).flatMap(({ command }) => (command === undefined ? [] : [command]))
}

if (import.meta.main) console.table(await benchPolicy())
