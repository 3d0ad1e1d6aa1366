import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { programVersion } from '../../../base/version.ts'
import { type Death, readDeaths, readVerdict } from '../../../daemon/parent/parent-files.ts'
import { counted, duration } from '../../render/format.ts'
import { type Check, type Finding, ok, type Patient, problem, warning } from '../finding.ts'

const DAY_MS = 24 * 60 * 60_000

export const checkDaemon: Check = patient => [...running(patient), ...crashes(patient), ...stalls(patient)]

function running({ client, silent }: Patient): Finding[] {
  if (silent) return [problem('daemon', silent.message, silent.next)]
  if (!client) return [ok('daemon', 'it is not running; the first command that needs it starts it')]
  const { pid, started_at, version, kept_by, watchdog_seconds, disk } = client.health
  const findings = [
    ok('daemon', `it runs (pid ${pid}) for ${duration(Date.now() - started_at)}, ${KEEPERS[kept_by ?? 'nobody']}`),
  ]
  if (kept_by === 'nobody')
    findings.push(
      warning('daemon', 'nobody starts it again if it dies', 'Start it anew, under its parent: pcc daemon restart'),
    )
  if (version !== programVersion())
    findings.push(warning('daemon', `it is version ${version}, this is pcc ${programVersion()}`, 'pcc daemon restart'))
  if (watchdog_seconds !== undefined)
    findings.push(
      ok('watchdog', `ends a daemon that stands still for ${watchdog_seconds} s, from the first session on`),
    )
  if (disk !== undefined) findings.push(problem('disk', disk, 'Free some space; what waits for it goes on by itself.'))
  return findings
}

const KEEPERS = {
  parent: 'kept by its parent',
  systemd: 'kept by systemd',
  launchd: 'kept by launchd',
  nobody: 'on its own',
}

/** A parent that gave up is a problem while no daemon runs, and news for a day after. */
function crashes({ places, client, now }: Patient): Finding[] {
  const verdict = readVerdict(places)
  if (verdict && (!client || now - verdict.at < DAY_MS)) {
    const how =
      verdict.why === 'refused' ? 'refused to start again' : `died ${counted(verdict.deaths, 'time')} in a row`
    const says = `the daemon ${how} (the last time with ${codeInWords(verdict.code)}) and was given up ${duration(now - verdict.at)} ago`
    const mend = 'See: pcc daemon logs, and logs/stderr.log beside it. Then: pcc daemon start'
    return [client ? warning('crashes', says, mend) : problem('crashes', says, mend)]
  }
  const recent = readDeaths(places).filter(({ at }) => now - at < DAY_MS)
  const last = recent.at(-1)
  if (!last) return [ok('crashes', 'none in the last day')]
  return [warning('crashes', crashText(recent, last, now), 'See: pcc daemon logs')]
}

function crashText(recent: Death[], last: Death, now: number): string {
  return `the daemon died ${counted(recent.length, 'time')} in the last day and was started again; the last time ${duration(now - last.at)} ago, with ${codeInWords(last.code)}`
}

/** 128 and more is a signal, as in every shell. */
function codeInWords(code: number): string {
  if (code === 134) return 'SIGABRT: it aborted, or its watchdog ended it'
  if (code === 137) return 'SIGKILL: somebody or the system killed it, perhaps for want of memory'
  return code > 128 ? `signal ${code - 128}` : `exit code ${code}`
}

/** What the watchdog wrote before it ended a daemon. */
function stalls({ places, now }: Patient): Finding[] {
  const files = globSync('stall-*.json', { cwd: places.logs }).toSorted()
  const last = files.at(-1)
  if (last === undefined) return []
  const file = join(places.logs, last)
  const page = pageIn(file)
  if (!page || now - Date.parse(page.at) > 7 * DAY_MS) return []
  return [warning('watchdog', `${page.what}, in ${page.stack?.[0] ?? 'an unknown place'}`, `Report it with: ${file}`)]
}

function pageIn(file: string): { at: string; what: string; stack?: string[] } | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { at: string; what: string; stack?: string[] }
  } catch {
    return undefined // it was being written when the disk was full
  }
}
