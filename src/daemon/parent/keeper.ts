/** Who starts the daemon again when it dies. */
export type Keeper = 'parent' | 'systemd' | 'launchd' | 'nobody'

interface Self {
  pid: number
  ppid: number
  platform: NodeJS.Platform
}

/**
 * Asked for anew each time: a parent that was killed leaves its child to somebody else, and the daemon goes on alone.
 * `INVOCATION_ID` is handed down to everything that a service starts, terminals included, so systemd's word on which process
 * it started itself decides.
 */
export function keeperOf(env: Record<string, string | undefined>, self: Self = process): Keeper {
  if (Number(env['PCC_PARENT']) === self.ppid) return 'parent'
  if (env['NOTIFY_SOCKET'] || Number(env['SYSTEMD_EXEC_PID']) === self.pid) return 'systemd'
  const job = env['XPC_SERVICE_NAME']
  if (self.platform === 'darwin' && self.ppid === 1 && job && job !== '0') return 'launchd'
  return 'nobody'
}
