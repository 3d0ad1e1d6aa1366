import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { missingPrograms } from '../../scripts/testing/agents/install.ts'
import { fallen, readTally, unseen } from '../../scripts/testing/agents/tally.ts'
import { tempDir } from '../support/world.ts'

test('points are counted once for each agent, and an agent that keeps fewer than before is reported', t => {
  const file = join(tempDir(t), 'tally.jsonl')
  const lines = [
    { agent: 'gemini', point: 'turn', held: 'asserted' },
    { agent: 'gemini', point: 'turn', held: 'asserted' },
    { agent: 'gemini', point: 'park', held: 'degraded' },
    { agent: 'codex', point: 'turn', held: 'asserted' },
  ]
  writeFileSync(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  const tallies = readTally(file)
  assert.deepEqual(Object.fromEntries(tallies), {
    gemini: { asserted: 1, degraded: 1, points: new Set(['turn', 'park']) },
    codex: { asserted: 1, degraded: 0, points: new Set(['turn']) },
  })
  assert.deepEqual(fallen(tallies, { gemini: 1, codex: 1 }, { all: true }), [])
  assert.deepEqual(fallen(tallies, { gemini: 2, codex: 1 }, { all: true }), ['gemini: 1 points hold; 2 must'])
})

test('a point of the contract that was not checked is reported for each agent; a partial check counts', t => {
  const file = join(tempDir(t), 'tally.jsonl')
  const lines = [
    { agent: 'gemini', point: 'turn (of one kind)', held: 'asserted' },
    { agent: 'gemini', point: 'park', held: 'degraded' },
    { agent: 'codex', point: 'turn', held: 'asserted' },
  ]
  writeFileSync(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  assert.deepEqual(unseen(readTally(file), ['turn', 'park']), ['codex: nobody looked at park'])
})

test('an agent that was not checked fails a full run, but not a run of some files', t => {
  const nothing = readTally(join(tempDir(t), 'never-written.jsonl'))
  assert.equal(fallen(nothing, { gemini: 1 }, { all: true }).length, 1)
  assert.deepEqual(fallen(nothing, { gemini: 1 }, { all: false }), [])
})

test('a program without the pinned version counts as missing', t => {
  const folder = tempDir(t)
  const write = (path: string, value: unknown) => {
    mkdirSync(join(folder, path), { recursive: true })
    writeFileSync(join(folder, path, 'package.json'), JSON.stringify(value))
  }
  write('.', { dependencies: { right: '1.0.0', old: '2.0.0', '@none/here': '3.0.0' } })
  write('node_modules/right', { version: '1.0.0' })
  write('node_modules/old', { version: '1.9.9' })
  assert.deepEqual(missingPrograms(folder), ['old@2.0.0', '@none/here@3.0.0'])
})
