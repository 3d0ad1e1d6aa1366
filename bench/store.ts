import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { NewEvent } from '../src/domain/event.ts'
import { openStore } from '../src/store/open.ts'
import type { BenchRow } from './row.ts'

const BATCH = 500
const BATCHES = 12
const SINGLES = 800
/** Many short rounds, alternating between us and the peer: a busy moment affects few of them, and the best of each counts. */
const ROUNDS = 25

/** Events stored per second through `append`, compared with prepared inserts of the same rows on bare `node:sqlite`. */
export async function benchStore(): Promise<BenchRow[]> {
  const dir = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  try {
    await using store = await openStore({ file: join(dir, 'ours.db') })
    using raw = openRaw(join(dir, 'raw.db'))
    const events = Array.from({ length: BATCH }, (_, index) => sampleEvent(index))

    const batched = await compare(BATCH * BATCHES, {
      ours: async () => {
        for (let batch = 0; batch < BATCHES; batch++) await store.append(events)
      },
      raw: () => {
        for (let batch = 0; batch < BATCHES; batch++) raw.insertTogether(events)
      },
    })
    const together = await compare(BATCH * BATCHES, {
      ours: async () => {
        for (let batch = 0; batch < BATCHES; batch++) await Promise.all(events.map(event => store.append([event])))
      },
      raw: () => {
        for (let batch = 0; batch < BATCHES; batch++) raw.insertTogether(events)
      },
    })
    const single = await compare(SINGLES, {
      ours: async () => {
        for (let index = 0; index < SINGLES; index++) await store.append([sampleEvent(index)])
      },
      raw: () => {
        for (let index = 0; index < SINGLES; index++) raw.insertOne(sampleEvent(index))
      },
    })
    return [
      {
        what: `events stored, batches of ${BATCH}, against raw node:sqlite`,
        measured: shown(batched),
        ratio: batched.ratio,
        budget: '≥ 0.5× and ≥ 50,000/s',
        ok: batched.ratio >= 0.5 && batched.ours >= 50_000,
      },
      {
        what: `events stored, ${BATCH} appends at once, against raw node:sqlite batches`,
        measured: shown(together),
        ratio: together.ratio,
        budget: '≥ 0.5×',
        ok: together.ratio >= 0.5,
      },
      {
        what: 'events stored, one at a time, against raw node:sqlite',
        measured: shown(single),
        ratio: single.ratio,
        budget: '≥ 0.5×',
        ok: single.ratio >= 0.5,
      },
    ]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

interface Rates {
  /** Per second. */
  ours: number
  raw: number
  ratio: number
}

async function compare(count: number, run: { ours(): Promise<void>; raw(): void }): Promise<Rates> {
  let ours = 0
  let raw = 0
  for (let round = 0; round < ROUNDS; round++) {
    ours = Math.max(ours, await perSecond(count, run.ours))
    raw = Math.max(raw, await perSecond(count, run.raw))
  }
  return { ours, raw, ratio: ours / raw }
}

async function perSecond(count: number, run: () => void | Promise<void>): Promise<number> {
  const start = performance.now()
  await run()
  return (count * 1000) / (performance.now() - start)
}

/** The peer: the same table, index, triggers and settings, one prepared statement, and the same JSON to write. */
function openRaw(file: string) {
  const database = new DatabaseSync(file)
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = normal;
    create table events (
      id integer primary key, time integer not null, actor text not null, schema_version integer not null,
      subject text not null, kind text not null, body text not null
    );
    create index events_subject on events (subject, id);
    create trigger refuse_update before update on events begin select raise(abort, 'no'); end;
    create trigger refuse_delete before delete on events begin select raise(abort, 'no'); end;
  `)
  const insert = database.prepare(
    'insert into events (time, actor, schema_version, subject, kind, body) values (?, ?, ?, ?, ?, ?)',
  )
  const insertOne = ({ actor, subject, kind, body }: NewEvent) => {
    insert.run(Date.now(), actor, 1, subject, kind, JSON.stringify(body))
  }
  return {
    insertOne,
    insertTogether: (events: NewEvent[]) => {
      database.exec('begin immediate')
      for (const event of events) insertOne(event)
      database.exec('commit')
    },
    [Symbol.dispose]: () => database.close(),
  }
}

/** An event of typical size: a tool call with its target and a short command. */
function sampleEvent(index: number): NewEvent {
  return {
    actor: 'agent',
    subject: `s-${(index % 16).toString(16).padStart(6, '0')}`,
    kind: 'tool.requested',
    body: {
      call_id: `toolu_${index}`,
      tool: 'Bash',
      target: 'npm test -- --grep "parser"',
      input: { command: 'npm test -- --grep "parser"', description: 'Runs the tests of the parser', timeout: 120_000 },
    },
  }
}

function shown({ ours, raw }: Rates): string {
  const rate = (value: number) => Math.round(value).toLocaleString('en')
  return `${rate(ours)}/s (raw ${rate(raw)}/s)`
}

if (import.meta.main) console.table(await benchStore())
