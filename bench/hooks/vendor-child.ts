import { spawnSync } from 'node:child_process'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { HookOutbox } from '../../src/supervisor/hooks/outbox.ts'
import { race } from '../measure.ts'
import { capturedRow } from './captured-row.ts'

// Plays the program of a vendor in a process of its own, because a hook takes the process that starts it for an agent, which may
// then no longer stop the daemon. It gets its work as JSON and prints its result as JSON.

export type VendorWork =
  /** Runs each command in turn and prints the medians. */
  | { does: 'race'; commands: Record<string, { args: string[]; expect: string }>; input: string; rounds: number }
  /** Writes so many events into the outbox of a home, as hooks without a daemon do. */
  | { does: 'write'; home: string; from: number; count: number }

const work = JSON.parse(process.argv[2] ?? '') as VendorWork
if (work.does === 'write') {
  const outbox = new HookOutbox(appPathsFor({ env: { PCC_HOME: work.home } }))
  for (let at = work.from; at < work.from + work.count; at++)
    if (!outbox.add([capturedRow(at)])) throw new Error('the outbox is full')
} else {
  const contenders = Object.entries(work.commands).map(
    ([name, command]) => [name, async () => runOnce(command)] as const,
  )
  process.stdout.write(JSON.stringify(await race(Object.fromEntries(contenders), work.rounds)))
}

function runOnce({ args, expect }: { args: string[]; expect: string }): void {
  const input = work.does === 'race' ? work.input : ''
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { input, encoding: 'utf8' })
  if (status !== 0 || !stdout.includes(expect))
    throw new Error(`${args.join(' ')} ended with ${status}: ${stdout}${stderr}`)
}
