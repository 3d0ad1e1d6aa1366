import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { runHello } from './hello.ts'
import { type Installation, openInstallation } from './program.ts'
import type { BenchRow } from './row.ts'

const WATCHED_MS = 30_000
/** The kernel counts processor time in hundredths of a second. */
const TICK_MS = 10

/** The cost of an idle daemon: before its first session, and after one has ended. */
export async function benchIdle(): Promise<BenchRow[]> {
  await using installation = await openInstallation()
  const { dist, pcc } = installation
  await pcc(dist, 'daemon', 'start')
  const pid = await daemonPid(installation)
  const before = await watch(pid)
  await runHello(installation)
  const after = await watch(pid)
  return [
    memory('daemon memory, idle, before the first session', before.megabytes, 100),
    memory('daemon memory, idle, after a session', after.megabytes, 150),
    processor('daemon processor use, idle, before the first session', before.percent),
    processor('daemon processor use, idle, after a session', after.percent),
  ]
}

async function daemonPid({ pcc, source }: Installation): Promise<number> {
  const { stdout } = await pcc(source, 'daemon', 'status', '--json')
  const { pid } = JSON.parse(stdout) as { pid?: number }
  if (!pid) throw new Error(`pcc daemon status --json told no pid: ${stdout}`)
  return pid
}

/** Waits a moment, then measures the processor time of a period and the memory at its end. */
async function watch(pid: number): Promise<{ megabytes: number; percent: number }> {
  await sleep(3000)
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

function memory(what: string, megabytes: number, budget: number): BenchRow {
  return { what, measured: `${megabytes.toFixed(0)} MB`, budget: `≤ ${budget} MB`, ok: megabytes <= budget }
}

function processor(what: string, percent: number): BenchRow {
  return { what, measured: `${percent.toFixed(2)} %`, budget: '≤ 0.1 %', ok: percent <= 0.1 }
}
