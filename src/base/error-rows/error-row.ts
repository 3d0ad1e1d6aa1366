/** One error: its exit code, its HTTP status, what it says and what to do next. */
export interface ErrorRow {
  exit: number
  http: number
  says: string
  next: string
}
