import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { BIN } from '../../support/program.ts'
import { bareEnv, COMPILED } from '../../support/world.ts'

/** Plays the vendor's program: a hook registers the process that starts it, which must not be the one of the tests. */
const VENDOR = `
const { spawn } = require('node:child_process')
const { text } = require('node:stream/consumers')
const { node, calls, cwd, together } = JSON.parse(process.argv[1])
const play = async ({ args, input = '', fill = 0, adrift }) => {
  // Nobody above it is known, and its environment is empty: only its output leads back to here.
  const drift = ['-c', '(env -i HOME="$HOME" PCC_HOME="$PCC_HOME" setsid "$0" "$@" </dev/null; true) &', node]
  const run = adrift ? ['/bin/sh', [...drift, ...args]] : [node, args]
  const child = spawn(...run, { cwd })
  child.stdin.on('error', () => {})
  child.stdin.end(input.replace('FILL', () => 'x'.repeat(fill)))
  const code = new Promise(resolve => child.once('exit', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}
const playAll = async () => {
  if (together) return Promise.all(calls.map(play))
  const results = []
  for (const call of calls) results.push(await play(call))
  return results
}
playAll().then(results => process.stdout.write(JSON.stringify(results)))
`

export interface VendorCall {
  args: string[]
  input?: string
  /** So many letters stand for FILL in the input. */
  fill?: number
  /** Started with a double fork and an emptied environment. */
  adrift?: boolean
}

export interface Ended {
  code: number | null
  out: string
  err: string
}

export function playVendor(
  home: string,
  cwd: string,
  calls: VendorCall[],
  { together = false } = {},
): Promise<Ended[]> {
  const work = JSON.stringify({
    node: process.execPath,
    cwd,
    together,
    calls: calls.map(call => ({ ...call, args: [BIN, ...call.args] })),
  })
  const env = { ...bareEnv(home), ...COMPILED, PCC_HOME: join(home, 'pcc') }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['-e', VENDOR, work], { env, encoding: 'utf8' }, (error, stdout) => {
      if (error) reject(error)
      else resolve(JSON.parse(stdout) as Ended[])
    })
  })
}

/** A hook of Claude Code before a command; `more` replaces fields of what it sends. */
export function before(home: string, cwd: string, command: string, more: object = {}): VendorCall {
  const call = { tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command }, permission_mode: 'default' }
  const base = { session_id: 's-1', transcript_path: '', cwd, hook_event_name: 'PreToolUse' }
  return {
    args: ['hook', 'claude', 'PreToolUse', '--home', join(home, 'pcc')],
    input: JSON.stringify({ ...base, ...call, ...more }),
  }
}

export const decisionOf = ({ out }: Ended | undefined = { code: 0, out: '', err: '' }) =>
  out === '' ? undefined : JSON.parse(out).hookSpecificOutput?.permissionDecision
