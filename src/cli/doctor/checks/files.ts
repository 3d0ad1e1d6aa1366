import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { diskReport, freeBytesOf } from '../../../daemon/disk/disk.ts'
import { standardValues } from '../../../domain/config/config.ts'
import { type Check, type Finding, ok, type Patient, problem, warning } from '../finding.ts'

const MB = 1024 * 1024

export const checkFiles: Check = patient => [...disk(patient), ...modes(patient), socket(patient)]

/** The nearest directory there is: before the first start there is none of ours. */
function disk({ places, config }: Patient): Finding[] {
  const dir = [places.data, places.home].find(path => existsSync(path))
  if (!dir) return [ok('disk', `${places.home} is made at the first start`)]
  const { state, reason } = diskReport(dir, config?.data.min_free_mb ?? standardValues()['data.min_free_mb'])
  if (state === 'ok') return [ok('disk', `${Math.floor(freeBytesOf(dir) / MB)} MB free in ${dir}`)]
  const mend =
    state === 'full'
      ? 'Free some space; what waits for it goes on by itself.'
      : 'Make it writable for you, or name another directory with --data-dir or data.directory.'
  return [problem('disk', reason, mend)]
}

/** Who else could read the token, the kept environments, the database. */
function modes({ places }: Patient): Finding[] {
  const secrets = join(places.run, 'secrets')
  const kept = existsSync(secrets) ? readdirSync(secrets).map(name => join(secrets, name)) : []
  const ours = [places.run, places.logs, places.tokenFile, places.database, places.trustFile, ...kept]
  const open = ours.filter(path => existsSync(path)).filter(path => (statSync(path).mode & 0o077) !== 0)
  const foreign = ours.filter(path => existsSync(path)).filter(path => statSync(path).uid !== process.getuid?.())
  const findings = [
    ...open.map(path => warning('permissions', `others can read ${path}`, `Close it: chmod go-rwx ${path}`)),
    ...foreign.map(path =>
      problem('permissions', `${path} belongs to another user`, 'Give it back with chown, or remove it.'),
    ),
  ]
  return findings.length > 0 ? findings : [ok('permissions', 'only you can read what is kept')]
}

function socket({ places: { socket: path, run } }: Patient): Finding {
  const isElsewhere = !path.startsWith(run)
  return ok('socket', isElsewhere ? `${path} (the path of your home is too long for one inside of it)` : path)
}
