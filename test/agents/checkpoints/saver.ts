import { save } from '../../../src/agents/checkpoints/save.ts'
import { sampleCheckpoint } from './sample.ts'

// Saves one checkpoint after another until it is killed and prints each id; with `large` one that does not fit, and prints why.
const [dir = '', mode] = process.argv.slice(2)
const conversation_summary = 'word '.repeat(mode === 'large' ? 200_000 : 2_000)

for (let nth = 0; nth < (mode === 'large' ? 1 : 10_000); nth++) {
  const outcome = await save(dir, sampleCheckpoint({ conversation_summary })).catch(
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  )
  process.stdout.write(`${outcome}\n`)
}
