import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { TmuxRecord } from '../../../src/agents/tmux/record.ts'
import { SubagentRecords } from '../../../src/agents/tmux/transcript.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { tempDir } from '../../support/world.ts'

test('each line of every subagent is read once, those of one that is begun later too, and what is no message is not', t => {
  const { transcript, subagent } = records(t)
  const reading = new SubagentRecords()
  assert.deepEqual(reading.read(), [], 'there is no conversation yet')
  reading.follow(transcript)
  assert.deepEqual(reading.read(), [], 'there is no subagent yet')
  subagent('agent-a.jsonl', result('c1'), { type: 'api-request-blob', message: { role: 'user' } })
  assert.deepEqual(callsIn(reading), ['c1'])
  subagent('deeper/agent-b.jsonl', result('c2'))
  subagent('agent-a.jsonl', result('c3'))
  subagent('agent-a.meta.json', result('c4'))
  assert.deepEqual(callsIn(reading).sort(), ['c2', 'c3'])
  assert.deepEqual(callsIn(reading), [])
})

test('no link in the folder of subagents is followed: two that lead back to it would stop the daemon for ever', t => {
  const { transcript, subagent } = records(t)
  const folder = join(transcript.replace(/\.jsonl$/, ''), 'subagents')
  subagent('agent-a.jsonl', result('c1'))
  for (const name of ['x', 'y']) symlinkSync('.', join(folder, name))
  const reading = new SubagentRecords()
  reading.follow(transcript)
  assert.deepEqual(callsIn(reading), ['c1'])
  const other = records(t)
  other.subagent('agent-b.jsonl', result('foreign'))
  const linked = records(t)
  mkdirSync(linked.transcript.replace(/\.jsonl$/, ''), { recursive: true })
  symlinkSync(
    join(other.transcript.replace(/\.jsonl$/, ''), 'subagents'),
    join(linked.transcript.replace(/\.jsonl$/, ''), 'subagents'),
  )
  const misled = new SubagentRecords()
  misled.follow(linked.transcript)
  assert.deepEqual(callsIn(misled), [], 'of another conversation')
})

test('another daemon goes on where the one before it stopped reading', t => {
  const { transcript, subagent } = records(t)
  const first = new SubagentRecords()
  first.follow(transcript)
  subagent('agent-a.jsonl', result('c1'))
  assert.deepEqual(callsIn(first), ['c1'])
  subagent('agent-a.jsonl', result('c2'))
  subagent('agent-b.jsonl', result('c3'))
  const next = new SubagentRecords({ transcript, offset: 0, subagents: first.position })
  assert.deepEqual(callsIn(next), ['c2', 'c3'])
})

test('in a conversation that is resumed, what subagents did before is passed over, and known for what it is', t => {
  const { transcript, subagent } = records(t)
  writeFileSync(transcript, `${JSON.stringify(result('past'))}\n`)
  subagent('agent-a.jsonl', result('old'))
  const reading = new SubagentRecords()
  reading.follow(transcript, { skip: true })
  assert.deepEqual(callsIn(reading), [])
  subagent('agent-a.jsonl', result('new'))
  assert.deepEqual(callsIn(reading), ['new'])
  appendFileSync(transcript, `${JSON.stringify(result('later'))}\n`)
  assert.deepEqual(reading.pastCalls(), ['past'], 'not what was added since')
})

test('whoever reads the record of a conversation is shown the calls of its subagents, which are not told', t => {
  const { transcript, subagent } = records(t)
  const open = { id: 's-1', cwd: '/p', env: {}, settingSources: [], asks: {} } as unknown as OpenSession
  const record = new TmuxRecord(open)
  record.begin()
  record.follow({ transcript_path: transcript, source: 'startup' })
  subagent('agent-a.jsonl', result('c1'), { ...result('c3'), isMeta: true })
  // As in versions that kept one record for all.
  writeFileSync(transcript, `${JSON.stringify(result('c2'))}\n`)
  const shown: unknown[] = []
  assert.equal(
    record.read(message => shown.push(...callsOf(message)) > 0),
    true,
  )
  assert.deepEqual(shown, ['c2', 'c1'])
  assert.deepEqual(Object.keys(record.position.subagents ?? {}), ['agent-a.jsonl'])
  record.close({ by: 'owner', failure: undefined })
})

test('code in a sandbox cannot have the record of another project read as its own, by its path or through a link', t => {
  const config = tempDir(t)
  const [own, other] = ['-p', '-other'].map(name => join(config, 'projects', name)) as [string, string]
  for (const folder of [own, other]) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'one.jsonl'), `${JSON.stringify(result('c1'))}\n`)
  }
  symlinkSync(other, join(own, 'linked'))
  symlinkSync(join(other, 'one.jsonl'), join(own, 'two.jsonl'))
  const sandbox = { made: { program: 'bwrap', version: '1' } }
  const env = { CLAUDE_CONFIG_DIR: config }
  const record = new TmuxRecord({ id: 's-1', cwd: '/p', env, sandbox, asks: {} } as unknown as OpenSession)
  record.begin()
  for (const path of [join(other, 'one.jsonl'), join(own, 'linked/one.jsonl'), join(own, 'two.jsonl')]) {
    record.follow({ transcript_path: path, source: 'startup' })
    assert.equal(
      record.read(() => true),
      false,
      path,
    )
  }
  record.follow({ transcript_path: join(own, 'one.jsonl'), source: 'startup' })
  assert.equal(
    record.read(() => true),
    true,
  )
  record.close({ by: 'owner', failure: undefined })
})

/** A conversation's record, and lines for those of its subagents. */
function records(t: TestContext) {
  const folder = tempDir(t)
  const transcript = join(folder, 'one.jsonl')
  const subagent = (name: string, ...lines: object[]) => {
    const path = join(folder, 'one', 'subagents', name)
    mkdirSync(dirname(path), { recursive: true })
    appendFileSync(path, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  }
  return { transcript, subagent }
}

function result(id: string) {
  const message = { role: 'user', content: [{ type: 'tool_result', tool_use_id: id }] }
  return { type: 'user', isSidechain: true, message }
}

function callsIn(reading: SubagentRecords): unknown[] {
  return reading.read().flatMap(callsOf)
}

function callsOf(message: Record<string, unknown>): unknown[] {
  return (message['message'] as { content: { tool_use_id: unknown }[] }).content.map(block => block.tool_use_id)
}
