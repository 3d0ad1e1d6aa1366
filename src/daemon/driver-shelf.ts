import type { Log } from '../base/log.ts'
import type { Driver } from '../domain/session.ts'

export interface DriverOptions {
  executable: string | undefined
  appendPrompt: string | undefined
}

export interface DriverShelf extends AsyncDisposable {
  get(options: DriverOptions): Promise<Driver>
}

/** One driver for each way of starting the agent, made on first use: the vendor's library is 37 MB that an idle daemon saves. */
export function driverShelf(log: Log): DriverShelf {
  const drivers = new Map<string, Promise<Driver>>()
  return {
    get(options) {
      const key = JSON.stringify(options)
      const found = drivers.get(key) ?? makeDriver(options, log)
      drivers.set(key, found)
      // One that could not be made is tried again by the next session.
      found.catch(() => drivers.delete(key))
      return found
    },
    async [Symbol.asyncDispose]() {
      const opened = await Promise.allSettled(drivers.values())
      await Promise.allSettled(opened.map(one => (one.status === 'fulfilled' ? one.value.close() : undefined)))
    },
  }
}

async function makeDriver(options: DriverOptions, log: Log): Promise<Driver> {
  const { openDriver } = await import('../agents/open.ts')
  return openDriver('claude', { ...options, log: (line: string) => log.debug({ line }, 'driver') })
}
