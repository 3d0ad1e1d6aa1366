import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MEMORY_CRASH_POINTS } from '../../src/base/crash-point.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { auditMemory } from '../../src/memory/examine.ts'
import { bareEnv } from '../support/world.ts'
import { PERSON } from './records.ts'

/** The process that is killed. */
export const CHILD = fileURLToPath(new URL('./memory-child.ts', import.meta.url))
const WRITE_POINTS = MEMORY_CRASH_POINTS.slice(0, 3)

/** Runs the child, which may be killed, and returns what it was told is stored. */
export function runChild(folder: string, job: string[], env: Record<string, string> = {}, child = CHILD) {
  const { stdout, stderr, signal } = spawnSync(process.execPath, [child, folder, ...job], {
    env: { ...bareEnv('/'), ...env },
    encoding: 'utf8',
  })
  return { said: stdout.split('\n').filter(Boolean), signal, stderr }
}

/**
 * Kills a writer, each round at another step, and has the next one write the same again. Whatever was acknowledged is there afterwards, and
 * nothing is there twice. Returns how many records were acknowledged, and how many processes were killed.
 */
export function killWriters(folder: string, rounds: number, child = CHILD): { acknowledged: number; killed: number } {
  const acknowledged = new Set<string>()
  let killed = 0
  for (let round = 0; round < rounds; round += 1) {
    const point = WRITE_POINTS[round % WRITE_POINTS.length]
    const at = { PCC_CRASH_AT: `${point}:${1 + (round % 5)}` }
    const { said, signal, stderr } = runChild(folder, ['write', `r${Math.floor(round / 2)}`, '3'], at, child)
    if (signal === 'SIGKILL') killed += 1
    assert.ok(signal === 'SIGKILL' || said.length === 6, `${point}: ${stderr}`)
    for (const id of said) acknowledged.add(id)
  }
  using memory = new MemoryBroker(folder)
  const { records, doubled, damaged, items } = auditMemory(memory)
  assert.deepEqual({ doubled, damaged, items }, { doubled: 0, damaged: [], items: records })
  for (const id of acknowledged) assert.ok(memory.record(id, PERSON), `${id} is lost`)
  return { acknowledged: acknowledged.size, killed }
}

/** All that is on disk below a folder. */
export function bytesBelow(folder: string): string {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return names.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')).join('\n')
}
