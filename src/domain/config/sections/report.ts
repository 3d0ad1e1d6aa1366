import { type Setting, text } from '../setting.ts'

const CLOCK = /^([01]?\d|2[0-3]):[0-5]\d$/

const clock = <T extends string | undefined>(given: { standard: T; about: string }): Setting<T> =>
  ({
    ...text({ ...given, project: 'never', inForce: true }),
    accepts: value => typeof value === 'string' && CLOCK.test(value),
    expects: 'a time such as "07:00"',
  }) as Setting<T>

/** What is told of a night, and when. */
export const REPORT_SETTINGS = {
  'report.since': clock<string>({
    standard: '22:00',
    about: 'From when on `pcc report` tells, unless it is said otherwise',
  }),
  'report.at': clock<string | undefined>({
    standard: undefined,
    about: 'When the report is sent through the channels of notifications, each day; unset, it is not',
  }),
} as const satisfies Record<string, Setting>
