import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Reads commands, runs each in a subshell of its own, and writes down every program that bash would have started, with its arguments.
 * PATH names no folder, so that bash finds no program and hands its words to the function instead. Only builtins run.
 */
const RECORDER = `
exec 3>"$2"
command_not_found_handle() { printf '%s\\0' call "$#" "$@" >&3; }
PATH=/nowhere
while IFS= read -r -d '' command; do
  printf '%s\\0' command >&3
  ( set --; eval "$command"; wait ) </dev/null >/dev/null 2>&1
done <"$1"
exit 0
`

/** The same for commands that xargs builds: xargs is real, and runs a program that writes its arguments down. */
export function recordInXargs(commands: readonly string[]): string[][][] {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-oracle-'))
  try {
    const found = join(folder, 'calls')
    writeFileSync(join(folder, 'p'), `#!/bin/sh\nprintf '%s\\0' call $(($# + 1)) p "$@" >>'${found}'\n`, {
      mode: 0o700,
    })
    symlinkSync(execFileSync('/bin/sh', ['-c', 'command -v xargs'], { encoding: 'utf8' }).trim(), join(folder, 'xargs'))
    const script = commands.map(command => `printf '%s\\0' command >>'${found}'\n${command}\n`).join('')
    execFileSync('/bin/bash', ['--norc', '--noprofile'], {
      cwd: folder,
      env: { HOME: '/home/u', PATH: folder },
      input: `${script}exit 0\n`,
      stdio: ['pipe', 'ignore', 'ignore'],
      timeout: 120_000,
    })
    return readCalls(readFileSync(found, 'utf8').split('\0'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The arguments of every program that real bash starts for each command, in the order of the commands, and the folder it is in. */
export function recordInBash(commands: readonly string[]): { folder: string; calls: string[][][] } {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-oracle-'))
  const beside = mkdtempSync(join(tmpdir(), 'pcc-oracle-'))
  try {
    const given = join(beside, 'commands')
    const found = join(beside, 'calls')
    writeFileSync(given, commands.map(command => `${command}\0`).join(''))
    execFileSync('bash', ['--norc', '--noprofile', '-c', RECORDER, 'bash', given, found], {
      cwd: folder,
      env: { HOME: '/home/u' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 120_000,
    })
    return { folder, calls: readCalls(readFileSync(found, 'utf8').split('\0')) }
  } finally {
    for (const made of [folder, beside]) rmSync(made, { recursive: true, force: true })
  }
}

function readCalls(fields: string[]): string[][][] {
  const commands: string[][][] = []
  for (let at = 0; at < fields.length; ) {
    const kind = fields[at++]
    if (kind === 'command') commands.push([])
    else if (kind === 'call') {
      const count = Number(fields[at++])
      commands.at(-1)?.push(fields.slice(at, at + count))
      at += count
    }
  }
  return commands
}

/** Whether what the policy believes of a call fits what bash made of it. A word with a hole may become any number of words. */
export function fits(believed: readonly string[], real: readonly string[]): boolean {
  const [first, ...rest] = believed
  if (first === undefined) return real.length === 0
  if (!first.includes('\0')) return real[0] === first && fits(rest, real.slice(1))
  return real.some((_, index) => fits(rest, real.slice(index))) || fits(rest, [])
}
