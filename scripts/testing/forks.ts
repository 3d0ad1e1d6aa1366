import { openForkServer } from '../../src/base/process/fork-server.ts'
import { setShortRunner } from '../../src/base/process/run-short.ts'

// Loaded before the tests of a process: they start git as a daemon does, from a small process. A test process has 150 to 300 MB, and
// starting a program copies its page tables: up to 10 ms of processor time, against 1 ms, and the tests start git 20,000 times.
setShortRunner(openForkServer().run)
