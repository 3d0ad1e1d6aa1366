import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openApiClient } from '../../src/domain/api-v1/client.ts'
import type { StoredEvent } from '../../src/domain/event.ts'
import type { TaskView } from '../../src/domain/task.ts'
import { openInstallation } from '../program.ts'
import type { BenchRow } from '../row.ts'
import { type Answered, sendLoad } from './load.ts'

const CONNECTIONS = 16
const READS = 8_000
const CREATES = 3_000
const ROUNDS = 5
/** Tasks that are read: so many that the API keeps them as they were sent, and so many that it keeps only some. */
const [FEW, MANY] = [100, 1_500]
const STREAMS = 200
const EVENTS = 60
const WATCHED_MS = 10_000
/** The kernel counts processor time in hundredths of a second. */
const TICK_MS = 10

/** The API over TCP: what reading and creating a task cost, how fast an event reaches many streams, and what listening costs. */
export async function benchApi(): Promise<BenchRow[]> {
  const limits = { PCC_API_REQUESTS_PER_MINUTE: '0', PCC_TASKS_QUEUE_SIZE: '100000000', PCC_API_MAX_STREAMS: '300' }
  await using installation = await openInstallation({ ...limits, PCC_API_PORT: '0' })
  const { dist, pcc, dir } = installation
  await pcc(dist, 'daemon', 'start')
  const { pid } = JSON.parse((await pcc(dist, 'daemon', 'status', '--json')).stdout) as { pid: number }
  const off = await watch(pid)
  const { address } = JSON.parse((await pcc(dist, 'daemon', 'api', 'on', '--json')).stdout) as { address: string }
  const on = await watch(pid)
  const { secret } = JSON.parse((await pcc(dist, 'api', 'keys', 'create', '--scope', 'work', '--json')).stdout) as {
    secret: string
  }
  const port = Number(new URL(address).port)
  const head = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${secret}\r\n`
  const client = openApiClient({ address, key: secret })
  const tasks: TaskView[] = []
  for (let number = 0; number < MANY; number++) {
    const body = { project: dir, title: `Read me ${number}`, description: 'x'.repeat(200), labels: ['a', 'b'] }
    tasks.push((await client.call('createTask', { body })).body)
  }
  const reads = await raceReads({ pid, port, head, tasks: tasks.slice(0, FEW) })
  const manyReads = await raceReads({ pid, port, head, tasks })
  const create = (extra: (number: number) => string) => (number: number) => {
    const json = JSON.stringify({ project: dir, title: `Task ${number}`, description: 'What is to be done.' })
    const type = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n`
    return `POST /api/v1/tasks HTTP/1.1\r\n${head}${type}${extra(number)}\r\n${json}`
  }
  const creating = { pid, port, connections: CONNECTIONS, requests: CREATES, status: 201 }
  const plain = await best(() => sendLoad({ ...creating, request: create(() => '') }))
  let round = 0
  const once = await best(() => {
    const name = `r${round++}`
    return sendLoad({ ...creating, request: create(number => `Idempotency-Key: ${name}-${number}\r\n`) })
  })
  const late = await delaysTo({ address, secret, dir })
  const memory = on.megabytes - off.megabytes
  return [
    {
      what: `GET /api/v1/tasks/:id over TCP with a key, ${CONNECTIONS} connections, against a bare Fastify route with the same body, by processor time`,
      measured: `${show(reads.ours)} (bare ${show(reads.bare)}), ${FEW} tasks in turn; ${MANY} in turn, of which most are read from the store: ${show(manyReads.ours)} (bare ${show(manyReads.bare)})`,
      ratio: reads.bare.microseconds / reads.ours.microseconds,
      budget: '≥ 0.5×',
      ok: reads.bare.microseconds / reads.ours.microseconds >= 0.5,
    },
    atLeast('create a task with its event and its row of the audit log, over TCP', plain, 2_000),
    atLeast('the same with an Idempotency-Key', once, 2_000),
    {
      what: `one event to ${STREAMS} streams, from its time to its arrival, p99`,
      measured: `${late} ms`,
      budget: '≤ 50 ms',
      ok: late <= 50,
    },
    {
      what: 'processor use of the idle daemon while the API listens',
      measured: `${on.percent.toFixed(2)} % (off ${off.percent.toFixed(2)} %)`,
      budget: '0.0 % more',
      ok: on.percent - off.percent < 0.05,
    },
    {
      what: 'memory of the idle daemon while the API listens, more than before',
      measured: `${memory.toFixed(1)} MB`,
      budget: '≤ 5 MB',
      ok: memory <= 5,
    },
  ]
}

interface Reads {
  pid: number
  port: number
  head: string
  /** Read in turn; the peer sends the first one. */
  tasks: readonly TaskView[]
}

/** The best of some rounds, ours and the peer's in turn. */
async function raceReads({ pid, port, head, tasks }: Reads): Promise<{ ours: Answered; bare: Answered }> {
  const script = fileURLToPath(new URL('bare-fastify.ts', import.meta.url))
  const peer = spawn(process.execPath, [script, JSON.stringify(tasks[0])], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [line] = (await once(createInterface({ input: peer.stdout }), 'line')) as [string]
    const read = { connections: CONNECTIONS, requests: READS, status: 200 }
    const request = (number: number) => `GET /api/v1/tasks/${tasks[number % tasks.length]?.id} HTTP/1.1\r\n${head}\r\n`
    const [ours, bare]: [Answered[], Answered[]] = [[], []]
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(await sendLoad({ ...read, pid, port, request }))
      bare.push(await sendLoad({ ...read, pid: peer.pid ?? 0, port: Number(line), request }))
    }
    return { ours: bestOf(ours), bare: bestOf(bare) }
  } finally {
    peer.kill()
    await once(peer, 'exit')
  }
}

async function best(measure: () => Promise<Answered>): Promise<Answered> {
  const rounds: Answered[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measure())
  return bestOf(rounds)
}

function bestOf(rounds: readonly Answered[]): Answered {
  return {
    perSecond: Math.max(...rounds.map(({ perSecond }) => perSecond)),
    microseconds: Math.min(...rounds.map(({ microseconds }) => microseconds)),
  }
}

/** Opens the streams, adds tasks one by one, and returns the 99th percentile of the delays in milliseconds. */
async function delaysTo({ address, secret, dir }: { address: string; secret: string; dir: string }): Promise<number> {
  const delays: number[] = []
  const headers = { authorization: `Bearer ${secret}` }
  const all = Promise.withResolvers<void>()
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      const asked = get(`${address}/api/v1/events?kind=task.submitted`, { headers, agent: false })
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      // Closing a stream on our side is an error for its reader.
      const lines = createInterface({ input: response }).on('error' as 'line', () => {})
      lines.on('line', line => {
        if (!line.startsWith('data: ')) return
        delays.push(Date.now() - (JSON.parse(line.slice(6)) as StoredEvent).time)
        if (delays.length === STREAMS * EVENTS) all.resolve()
      })
      response.on('error', () => {})
      return asked.on('error', () => {})
    }),
  )
  const { call } = openApiClient({ address, key: secret })
  for (let at = 0; at < EVENTS; at++) {
    await call('createTask', { body: { project: dir, title: `Event ${at}` } })
    await sleep(30)
  }
  await all.promise
  for (const stream of streams) stream.destroy()
  return delays.toSorted((a, b) => a - b)[Math.floor(delays.length * 0.99)] ?? Number.NaN
}

/** Waits until it is quiet, then measures the processor time of a period and the memory at its end. */
async function watch(pid: number): Promise<{ megabytes: number; percent: number }> {
  await sleep(5_000)
  const [ticks, started] = [ticksOf(pid), performance.now()]
  await sleep(WATCHED_MS)
  const percent = (((ticksOf(pid) - ticks) * TICK_MS) / (performance.now() - started)) * 100
  const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { megabytes: Number(resident) / 1024, percent }
}

function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

function atLeast(what: string, got: Answered, budget: number): BenchRow {
  return { what, measured: show(got), budget: `≥ ${budget.toLocaleString('en')}/s`, ok: got.perSecond >= budget }
}

function show({ perSecond, microseconds }: Answered): string {
  return `${Math.round(perSecond).toLocaleString('en')}/s, ${Math.round(microseconds)} µs of processor time each`
}
