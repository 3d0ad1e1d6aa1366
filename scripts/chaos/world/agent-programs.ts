import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundledProgram } from '../../../src/agents/claude/options.ts'

/** The programs that a daemon starts as agents in a round. */
export interface AgentPrograms {
  /** Claude Code. */
  claude: string
  /** The folder that they write to: a sandbox has to let them. */
  locks: string
  /** An agent that takes over tasks; it reads its plan from this file. */
  second: string
  /** Cases in which an agent started while another one, or a process of it, was alive in the same directory. */
  overlaps(): string[]
}

const SECOND_AGENT = fileURLToPath(new URL('./second-agent.ts', import.meta.url))

/**
 * Writes the programs. Each one locks its directory before it becomes the agent, and holds the lock by an open file. The kernel
 * releases it with the last process that has the file, the agent's children included. So no polling is needed, and no lock is stale.
 */
export function writePrograms(folder: string, clock: Record<string, string>, planFile: string): AgentPrograms {
  const locks = join(folder, 'locks')
  const overlaps = join(locks, 'overlaps')
  mkdirSync(locks, { recursive: true })
  const claude = join(folder, 'claude')
  const second = join(folder, 'second')
  // It is also started for `--version`.
  const isWork = `case "$*" in *'--input-format stream-json'*) true ;; *) false ;; esac`
  writeProgram(claude, { isWork, locks, overlaps, clock, command: [bundledProgram()] })
  const command = [process.execPath, SECOND_AGENT, planFile]
  writeProgram(second, { isWork: 'true', locks, overlaps, clock, command })
  return {
    claude,
    locks,
    second,
    overlaps: () => (existsSync(overlaps) ? readFileSync(overlaps, 'utf8').split('\n').filter(Boolean) : []),
  }
}

interface Program {
  isWork: string
  locks: string
  overlaps: string
  clock: Record<string, string>
  command: string[]
}

function writeProgram(file: string, { isWork, locks, overlaps, clock, command }: Program): void {
  const text = `#!/bin/sh
if ${isWork}; then
  exec 9>>'${locks}'/"$(pwd | tr -c 'A-Za-z0-9\\n' _)"
  flock -n 9 || echo "$(basename "$(pwd)"): an agent began at $(date +%s%3N) while another one was alive there" >> '${overlaps}'
fi
${Object.entries(clock)
  .map(([name, value]) => `export ${name}='${value}'\n`)
  .join('')}exec ${command.map(word => `'${word}'`).join(' ')} "$@"
`
  writeFileSync(file, text, { mode: 0o755 })
}
