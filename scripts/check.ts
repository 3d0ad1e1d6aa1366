import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { measureHouse } from '../test/house/measures.ts'
import { ROOT, tool } from './places.ts'

const TOGETHER = fileURLToPath(new URL('testing/together.ts', import.meta.url))

// All checks that do not run the program, side by side. The full tests are `npm test`; .ci/run runs both. --after-tests leaves out
// the tests of test/house, which `npm test` runs as well.
const steps = [
  { name: 'types', command: tool('tsc'), args: ['-p', '.'] },
  { name: 'lint and format', command: tool('biome'), args: ['check', '--error-on-warnings', '.'] },
  { name: 'dead code', command: tool('knip'), args: ['--no-progress'] },
  ...(process.argv.includes('--after-tests')
    ? []
    : [{ name: 'layers, length, docs', command: process.execPath, args: [TOGETHER, ...houseTests()] }]),
]

let failed = 0
const running = steps.map(step => ({ step, end: run(step) }))
for (const { step, end } of running) {
  const { ok, output, seconds } = await end
  const mark = ok ? styleText('green', '✓') : styleText('red', '✗')
  process.stdout.write(`${mark} ${step.name.padEnd(22)} ${seconds.toFixed(1)} s\n`)
  if (ok) continue
  failed += 1
  process.stdout.write(`${output.trimEnd()}\n\n`)
}
const house = measureHouse(ROOT)
process.stdout.write(
  `  ${house.files} files in ${house.folders} folders, ${house.lines} lines; the largest is ${house.largest}; ${house.oneImporter} files have one importer (${house.smallOneImporter} of them are under 40 lines); ways: ${Object.entries(
    house.ways,
  )
    .map(([name, length]) => `${name} ${length} files`)
    .join(', ')}\n`,
)
if (failed > 0) {
  process.stdout.write(
    styleText('red', `${failed} of ${steps.length} checks failed; what each found is printed below its line.\n`),
  )
}
process.exitCode = failed > 0 ? 1 : 0

/** The package test installs the tarball, which takes minutes and is not a static check; it belongs to `npm test`. */
function houseTests(): string[] {
  return globSync('test/house/*.test.ts', { cwd: ROOT })
    .filter(file => !file.endsWith('package.test.ts'))
    .sort()
}

function run({
  command,
  args,
}: {
  command: string
  args: string[]
}): Promise<{ ok: boolean; output: string; seconds: number }> {
  const started = performance.now()
  const { promise, resolve } = Promise.withResolvers<{ ok: boolean; output: string; seconds: number }>()
  // The tools start with `env node`, which must be this Node, even if npm did not start us.
  const env = { ...process.env, PATH: `${dirname(tool('node'))}:${process.env['PATH']}` }
  const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  child.stderr.on('data', chunk => {
    output += chunk
  })
  const seconds = () => (performance.now() - started) / 1000
  child.on('error', error => resolve({ ok: false, output: error.message, seconds: seconds() }))
  child.on('close', code => resolve({ ok: code === 0, output, seconds: seconds() }))
  return promise
}
