import { after } from 'node:test'
import { type DaemonProcess, type StartOptions, startDaemon } from './daemon-process.ts'

/**
 * One daemon for those tests of a file that neither end it nor look at what is not theirs: to start one, and to load what an
 * agent takes, costs more than most tests do. The first to ask starts it; it ends with the file.
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
