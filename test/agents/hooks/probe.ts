import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hookTranslator } from '../../../src/agents/hooks/vendors.ts'
import { type HookAnswer, type HookOutput, type HookVendor, NO_OPINION } from '../../../src/domain/hooks.ts'

// node probe.ts <folder> <vendor> <event>: the hook of a recording. It keeps what it got, and says what says.json in the folder holds.

/** What a hook got and said. */
export interface Heard extends HookOutput {
  native: string
  stdin: string
}

const SILENCE: HookOutput = { stdout: '', stderr: '', exit: 0 }
const [folder = '', vendor = '', native = ''] = process.argv.slice(2)
const stdin = readFileSync(0, 'utf8')
const said = JSON.parse(readFileSync(join(folder, 'says.json'), 'utf8')) as Record<string, Partial<HookAnswer>>
const isFirst = !readdirSync(folder).some(name => name.includes(`-${native}-`))
const output = isFirst ? answer(said[native]) : SILENCE
const heard: Heard = { native, stdin, ...output }
writeFileSync(join(folder, `${Date.now()}-${native}-${process.pid}.json`), JSON.stringify(heard))
process.stdout.write(output.stdout)
process.stderr.write(output.stderr)
process.exitCode = output.exit

function answer(given: Partial<HookAnswer> | undefined): HookOutput {
  const { read, render } = hookTranslator(vendor as HookVendor)
  const event = read(native, stdin, process.cwd())
  return event && given ? render(event, { ...NO_OPINION, ...given }) : SILENCE
}
