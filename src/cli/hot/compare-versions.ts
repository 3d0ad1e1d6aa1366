import { programVersion } from '../../base/version.ts'

/** After an update the old daemon still runs: it answers, but the person should know. */
export async function compareVersions(running: string | undefined, quiet: boolean): Promise<void> {
  if (running === undefined || quiet) return
  const own = programVersion()
  if (running !== own) (await import('../report.ts')).warnOfVersion(running, own)
}
