import { openClassifier } from '../../src/policy/classify/classify.ts'
import { MAX_COMMAND } from '../../src/policy/shell/parse.ts'
import type { BenchRow } from '../row.ts'
import { benchPolicyPeer } from './peer.ts'
import { labelledRows } from './rows.ts'

const ROUNDS = 5
const HOSTILE = ['$[', '$(', '${', '`', '((', '<(', '"$(', '$(( $( ', '{a,', '[[ a =~ (']

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
  return [
    {
      what: `permission verdict, rule path, ${commands.length} commands up to 1 KiB, median`,
      measured: `${(at(0.5) * 1000).toFixed(0)} µs`,
      budget: '≤ 100 µs',
      ok: at(0.5) <= 0.1,
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
    ...(await benchPolicyPeer()),
  ]
}

async function worstHostile(judge: (command: string) => ReturnType<ReturnType<typeof openClassifier>['classify']>) {
  await judge(`ls ${'x '.repeat(2000)}`)
  let ms = 0
  let allHigh = true
  for (const opener of HOSTILE) {
    const command = opener.repeat(Math.floor(MAX_COMMAND / opener.length))
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
