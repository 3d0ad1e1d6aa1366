import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { secretId } from '../src/base/ids.ts'
import { branded } from '../src/base/process/marker.ts'
import { endLeftovers } from './testing/leftovers.ts'
import { selectTests } from './testing/select.ts'

// npm test [-- words]: a word is a folder, a file or a part of a path; what begins with a dash goes to `node --test`.
// Every process of the run carries its marker and lives under its folder; one that outlives the run turns it red.

const INTERRUPTED = 130
const root = process.cwd()
const { files, flags } = selectTests(root, process.argv.slice(2))
if (files.length === 0) {
  process.stderr.write(
    'No test file matches. Give a folder, a file or a part of a path, for example: npm test -- store\n',
  )
  process.exit(2)
}

const marker = { name: 'PCC_TEST_RUN', value: secretId(12) }
const folder = mkdtempSync(join(tmpdir(), 'pcc-'))
const outcome = await runTests()
const left = await endLeftovers({ marker, folder, graceMs: outcome === INTERRUPTED ? 500 : 5_000 })
rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
for (const { pid, command } of left) {
  process.stdout.write(styleText('red', `left running, now ended: ${pid} ${command.slice(0, 200)}\n`))
}
if (left.length > 0) {
  process.stdout.write(styleText('red', `The run fails: ${left.length} of its processes outlived it.\n`))
}
process.exitCode = left.length > 0 && outcome === 0 ? 1 : outcome

/** Three at once: a test with a real agent takes most of a core, but many wait for a limit to reset. */
async function runTests(): Promise<number> {
  const reporter = fileURLToPath(new URL('testing/compact-reporter.ts', import.meta.url))
  const args = [
    '--test',
    '--test-concurrency=3',
    '--test-timeout=600000',
    `--test-reporter=${reporter}`,
    ...flags,
    ...files,
  ]
  const start = branded(marker, process.execPath, args)
  const { NODE_TEST_CONTEXT: _silencesNestedRuns, ...inherited } = process.env
  const env = { ...inherited, [marker.name]: marker.value, TMPDIR: folder }
  const child = spawn(start.command, start.args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] })
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      interrupted = true
      child.kill('SIGTERM')
    })
  }
  const [code] = await once(child, 'exit')
  if (interrupted) return INTERRUPTED
  return typeof code === 'number' ? code : 1
}
