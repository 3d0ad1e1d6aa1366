import { writeSync } from 'node:fs'
import { openStore } from '../../../src/store/open.ts'
import { note, upTo } from '../databases.ts'

/** Writes in every possible way and prints `label size` only after the store has confirmed; the parent kills it at some point. */
const [file = '', name = ''] = process.argv.slice(2)
await using store = await openStore({ file })
const acknowledge = (label: string, size: number) => writeSync(1, `${label} ${size}\n`)

for (let round = 0; round < 100_000; round++) {
  const size = 1 + (round % 40)
  const label = (way: string) => `${name}-${round}-${way}`
  const events = (way: string) => upTo(size).map(() => note(label(way), `${size}`))
  await Promise.all([
    store.append(events('batch')).then(() => acknowledge(label('batch'), size)),
    store.append([note(label('single'), '1')]).then(() => acknowledge(label('single'), 1)),
    store
      .transaction(async tx => {
        for (const event of events('transaction')) await tx.append([event])
      })
      .then(() => acknowledge(label('transaction'), size)),
  ])
}
