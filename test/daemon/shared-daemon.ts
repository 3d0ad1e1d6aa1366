import { after } from 'node:test'
import { type DaemonProcess, type StartOptions, startDaemon } from './daemon-process.ts'

/**
 * One daemon for the tests of a file that neither end it nor look at other tests' data: starting a daemon and loading the code for
 * agents costs more than most tests. The first test that asks starts it; it ends with the file.
 */
export function sharedDaemon(options: StartOptions = {}): () => Promise<DaemonProcess> {
  const endings: (() => unknown)[] = []
  const file = { after: (end: () => unknown) => void endings.push(end) }
  after(async () => {
    for (const end of endings.reverse()) await end()
  })
  let daemon: Promise<DaemonProcess> | undefined
  return () => {
    daemon ??= startDaemon(file, options)
    return daemon
  }
}
