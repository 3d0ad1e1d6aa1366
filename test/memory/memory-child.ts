import { writeSync } from 'node:fs'
import { newRecord, recordId } from '../../src/domain/memory.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { erase, findRecords, forget } from '../../src/memory/forget.ts'
import { maintain } from '../../src/memory/maintain.ts'
import { fact, PERSON } from './records.ts'

// A process that a test can kill at any step. Each line that it prints is something that it was told is stored.

const [, , folder = '', job = '', name = '', count = '1'] = process.argv
const say = (line: string) => writeSync(1, `${line}\n`)

try {
  using memory = new MemoryBroker(folder)
  if (job === 'write') {
    for (let at = 0; at < Number(count); at += 1) {
      const records = [0, 1].map(part =>
        fact(`rule ${name} ${at} ${part}`, {
          id: recordId(`${name} ${at} ${part}`),
          of: part === 0 ? 'git-a' : 'git-b',
        }),
      )
      const { stored, known } = memory.write(records)
      for (const id of [...stored, ...known]) say(id)
    }
    memory.catchUp()
  }
  if (job === 'find') say(String(memory.find({ reader: PERSON, text: name }).length))
  if (job === 'forget') {
    while (memory.drainOutbox());
    say(
      String(
        forget(
          memory,
          findRecords(memory, record => 'text' in record && record.text.includes(name)),
        ).length,
      ),
    )
    while (!erase(memory, { withinMs: 0 }));
  }
  if (job === 'expire') {
    const time = Date.now()
    memory.write([newRecord({ ...fact('now'), time })])
    while (!maintain(memory, { now: time, retentionDays: 1 }).isDone);
  }
} catch (error) {
  say(`failed ${(error as { code?: string }).code}: ${(error as Error).message}`)
}
